import { readFileSync } from 'node:fs';
import path from 'node:path';

import { expect, it } from 'vitest';

import { repositoryRoot } from '../shared/workspace.mjs';
import { listMutants, writePage } from './mutants.mjs';

it('the page of durability mutants is what the tests are called, and has at least forty', async () => {
  const mutants = await listMutants();
  expect(mutants.length).toBeGreaterThanOrEqual(40);
  expect(new Set(mutants.map(({ file, name }) => file + name)).size).toBe(mutants.length);
  expect(readFileSync(path.join(repositoryRoot, 'docs/durability-mutants.md'), 'utf8')).toBe(
    writePage(mutants),
  );
});

import { readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { repositoryRoot } from '../shared/workspace.mjs';
import { examplesOfMarkdown } from './fences.mjs';

const maxLines = 25;

/** That they type-check and run is the business of `check-readme.mjs`. */
describe('the quick start', () => {
  const [first, second] = ['README.md', 'packages/holdfast/README.md'].map(
    (file) => examplesOfMarkdown(file, readFileSync(path.join(repositoryRoot, file), 'utf8'))[0]?.code ?? '',
  );

  it(`has at most ${maxLines} lines and needs one package`, () => {
    expect(first?.trimEnd().split('\n').length).toBeLessThanOrEqual(maxLines);
    const imported = [...(first ?? '').matchAll(/from '([^']+)'/g)].map((match) => match[1]);
    expect(imported.filter((name) => name?.startsWith('node:') !== true)).toEqual(['holdfast']);
  });

  it('is the same wherever people meet it', () => {
    expect(second).toBe(first);
  });
});

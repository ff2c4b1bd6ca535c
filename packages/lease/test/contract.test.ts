import { readFileSync } from 'node:fs';

import { ModelFileSystem } from '@holdfast/durable/testing';
import {
  fsLeaserHarness,
  leaserSuite,
  memoryLeaserHarness,
  prefixedLeaserHarness,
  secondViewLeaserHarness,
  testLeaser,
  verifyLeaser,
} from '@holdfast/lease/testing';
import { afterAll, describe, expect, it } from 'vitest';

import { temporaryDirectory } from './temporary-directory.js';

const temporary = temporaryDirectory();
afterAll(() => {
  temporary.remove();
});

const inMemory = (): { fileSystem: ModelFileSystem } => ({ fileSystem: new ModelFileSystem() });

for (const harness of [
  memoryLeaserHarness(),
  prefixedLeaserHarness(memoryLeaserHarness()),
  secondViewLeaserHarness(memoryLeaserHarness()),
  fsLeaserHarness(temporary.make(), { adapter: 'fs on the disk' }),
  fsLeaserHarness('/leases', { ...inMemory(), adapter: 'fs in memory' }),
  prefixedLeaserHarness(fsLeaserHarness('/leases', inMemory())),
  secondViewLeaserHarness(fsLeaserHarness('/leases', inMemory())),
  fsLeaserHarness('/leases', { ...inMemory(), scope: 'process' }),
]) {
  testLeaser({ describe, it }, harness);
}

describe('the contract page', () => {
  it('has exactly one clause per case, in the same order', () => {
    const page = readFileSync(new URL('../../../docs/contracts/lease.md', import.meta.url), 'utf8');
    const clauses = [...page.matchAll(/^- \*\*(\d+\.\d+)\*\* /gm)].map((match) => match[1]);
    expect(clauses).toEqual(leaserSuite.cases.map(({ clause }) => clause));
    expect(page).toContain(`\`${leaserSuite.contract}\``);
  });
});

describe('the report', () => {
  it('says in one line what was checked', async () => {
    const report = await verifyLeaser(memoryLeaserHarness({ seed: 7 }));
    expect(report).toMatchObject({ ok: true, seed: 7, adapter: 'memory' });
    expect(report.summary).toMatch(/^contract: lease\/1, cases \d+, advisory 0: all passed$/);
  });
});

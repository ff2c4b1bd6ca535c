import { fsLeaserHarness, memoryLeaserHarness, testLeaser, verifyLeaser } from '@holdfast/lease/testing';
import { afterAll, describe, expect, it } from 'vitest';

import { prefixedHarness } from './prefixed-harness.js';
import { temporaryDirectory } from './temporary-directory.js';

const temporary = temporaryDirectory();
afterAll(() => {
  temporary.remove();
});

testLeaser({ describe, it }, memoryLeaserHarness());
testLeaser({ describe, it }, prefixedHarness(memoryLeaserHarness()));
testLeaser({ describe, it }, fsLeaserHarness(temporary.make()));
testLeaser({ describe, it }, prefixedHarness(fsLeaserHarness(temporary.make())));
testLeaser({ describe, it }, fsLeaserHarness(temporary.make(), { scope: 'process' }));

describe('the report', () => {
  it('says in one line what was checked', async () => {
    const report = await verifyLeaser(memoryLeaserHarness({ seed: 7 }));
    expect(report).toMatchObject({ ok: true, seed: 7, adapter: 'memory' });
    expect(report.summary).toMatch(/^contract: lease\/1, cases \d+, advisory 0: all passed$/);
  });
});

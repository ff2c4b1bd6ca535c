// The same suite under another runner and from the built files: `node --test test/node/contract.node-test.mjs`.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { fsLeaserHarness, memoryLeaserHarness, testLeaser } from '@holdfast/lease/testing';

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-lease-node-')));
after(() => {
  rmSync(directory, { recursive: true, force: true });
});

testLeaser({ describe, it }, memoryLeaserHarness());
testLeaser({ describe, it }, fsLeaserHarness(directory));

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { prefixedLedgerHarness, testLedger } from '@holdfast/journal/testing';
import { openLevelLedgers } from '@holdfast/level';

const id = 'session-0001';
const directories = [];
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

const opened = new WeakMap();
const open = async (directory) => {
  const ledgers = await openLevelLedgers(directory);
  try {
    const ledger = await ledgers.open(id, { create: true });
    const close = ledger.close.bind(ledger);
    ledger.close = async () => {
      await close();
      await ledgers.close();
    };
    ledger[Symbol.asyncDispose] = () => ledger.close();
    opened.set(ledger, directory);
    return ledger;
  } catch (error) {
    await ledgers.close();
    throw error;
  }
};
const harness = {
  adapter: 'level, per session',
  fresh: async () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-level-'));
    directories.push(directory);
    return await open(directory);
  },
  reopen: async (ledger) => await open(opened.get(ledger)),
};

for (const one of [harness, prefixedLedgerHarness(harness)]) testLedger({ describe, it }, one);

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SessionStore } from '@holdfast/journal';
import { memorySessionParts } from '@holdfast/journal/testing';
import { openLevelLedgers } from '@holdfast/level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-level-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('level session ledgers', () => {
  it('keeps a session over close and open', async () => {
    const ledgers = await openLevelLedgers(directory);
    const store = await SessionStore.open(memorySessionParts({ ledgers }));
    const journal = await store.create({ title: 'first' });
    await journal.append({ type: 'SessionStarted', body: {} });
    const { id } = journal;
    expect(readdirSync(join(directory, id)).sort()).toEqual(['ledger', 'owner', 'refs', 'summary']);
    await journal.close();
    expect(readdirSync(join(directory, id)).sort()).toEqual(['ledger', 'refs', 'summary']);
    const again = await store.open(id);
    expect(again.fold.title).toBe('first');
    expect(again.tip).toBe(4);
    await again.close();
    await store.delete(id);
    expect(readdirSync(directory)).toEqual([]);
    await store.close();
    await ledgers.close();
  });
});

import { LedgerInUseError } from '@holdfast/journal';
import { describe, expect, it } from 'vitest';

import { beside } from '../src/beside.js';
import { recordedSnapshots } from '../src/recorded-snapshots.js';
import { listSessions } from '../src/session-access.js';
import type { LocalStack } from '../src/stack.js';

/** Owners that say nothing are waited for beside each other, so that a list takes one such wait and not their sum. */

const never = new AbortController().signal;

/** Counts who is at work at the same time. Each works for two turns of the event loop. */
function counter() {
  let now = 0;
  const seen = { most: 0, all: 0 };
  const work = async (): Promise<void> => {
    now += 1;
    seen.all += 1;
    seen.most = Math.max(seen.most, now);
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
  };
  return { seen, work };
}

/** A home whose sessions all belong to other processes. */
function liveHome(ids: readonly string[], asked: () => Promise<void>): LocalStack {
  const list = async function* (): AsyncGenerator<unknown> {
    for (const id of ids)
      yield await Promise.resolve({ id, title: undefined, lastActive: 0, state: 'unknown' });
  };
  const sessions = {
    list,
    read: async (id: string) => await Promise.reject(new LedgerInUseError(id, undefined)),
    owner: async () => {
      await asked();
      return undefined;
    },
  };
  const roots = { list: async function* () {} };
  return { sessions, roots } as unknown as LocalStack;
}

const ids = ['session-0001', 'session-0002', 'session-0003'];

describe('the owners of live sessions', () => {
  it('are asked beside each other for a list of sessions, which stays in order', async () => {
    const { seen, work } = counter();
    const rows = await listSessions(liveHome(ids, work), never);
    expect(rows.map(({ id, placement }) => [id, placement])).toEqual(ids.map((id) => [id, undefined]));
    expect(seen.most).toBe(ids.length);
  });

  it('are asked beside each other for a list of snapshots, and named in order when they say nothing', async () => {
    const { seen, work } = counter();
    const { snapshots, unread } = await recordedSnapshots(liveHome(ids, work), undefined, never);
    expect([snapshots, unread.map(({ id }) => id)]).toEqual([[], ids]);
    expect(seen.most).toBe(ids.length);
  });
});

describe('work beside each other', () => {
  it('is bounded', async () => {
    const { seen, work } = counter();
    await beside(Array.from({ length: 200 }), work);
    expect(seen).toEqual({ most: 64, all: 200 });
  });

  it('fails with the first failure, when all of it has ended', async () => {
    const { seen, work } = counter();
    const failing = beside([1, 2, 3], async (number) => {
      if (number === 1) throw new Error('the first');
      await work();
    });
    await expect(failing).rejects.toThrow('the first');
    expect(seen.all).toBe(2);
  });
});

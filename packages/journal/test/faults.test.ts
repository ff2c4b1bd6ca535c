import { isJournalError, type SessionJournal, SessionStore } from '@holdfast/journal';
import { isLeaseError } from '@holdfast/lease';
import { describe, expect, it } from 'vitest';

import { checkpointBody, collect, refOf, World } from './support/world.js';

const id = 'session-0001';
type Operation =
  | 'append'
  | 'tip'
  | 'read'
  | 'list'
  | 'delete'
  | 'note-read'
  | 'note-write'
  | 'blob-put'
  | 'blob-get';
const operations: readonly Operation[] = [
  'append',
  'tip',
  'read',
  'note-read',
  'note-write',
  'blob-put',
  'blob-get',
];

/** A store whose n-th call of one operation fails, once or from then on. */
class FaultyWorld extends World {
  calls = 0;
  readonly #fault:
    | { readonly operation: Operation; readonly at: number; readonly forEver: boolean }
    | undefined;

  constructor(fault?: { readonly operation: Operation; readonly at: number; readonly forEver: boolean }) {
    super();
    this.#fault = fault;
  }

  meet(operation: Operation): void {
    if (operation !== this.#fault?.operation) return;
    this.calls += 1;
    const { at, forEver } = this.#fault;
    if (this.calls === at || (forEver && this.calls > at))
      throw new Error(`injected: call ${this.calls} of ${operation}`);
  }

  async faultyStore(): Promise<SessionStore> {
    const ledgers = this.ledgers();
    const notes = ledgers.notes as NonNullable<typeof ledgers.notes>;
    const open = ledgers.open.bind(ledgers);
    const meet = (operation: Operation): void => {
      this.meet(operation);
    };
    const { blobs, clock, random } = this;
    const watched = new Proxy(blobs, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        const call = value.bind(target) as (...call: unknown[]) => unknown;
        if (key !== 'put' && key !== 'get') return call;
        return async (...args: unknown[]) => {
          meet(key === 'put' ? 'blob-put' : 'blob-get');
          return await (call(...args) as Promise<unknown>);
        };
      },
    });
    return await SessionStore.open({
      ledgers: {
        ...ledgers,
        notes: {
          read: async (...call) => {
            meet('note-read');
            return await notes.read(...call);
          },
          write: async (...call) => {
            meet('note-write');
            await notes.write(...call);
          },
        },
        open: async (...call) => {
          const ledger = await open(...call);
          const faults = this.faults as NonNullable<typeof this.faults>;
          const [append, tip, read] = [
            faults.append.bind(faults),
            faults.tip.bind(faults),
            faults.read.bind(faults),
          ];
          Object.assign(faults, {
            append: async (...args: Parameters<typeof append>) => {
              meet('append');
              await append(...args);
            },
            tip: async (...args: Parameters<typeof tip>) => {
              meet('tip');
              return await tip(...args);
            },
            read: (...args: Parameters<typeof read>) => {
              meet('read');
              return read(...args);
            },
          });
          return ledger;
        },
      },
      leaser: this.leaser(),
      blobs: watched,
      clock,
      random,
    });
  }
}

/** A life of a session; the ids of the events that were acknowledged on the way. */
async function live(store: SessionStore, acknowledged: Set<string>): Promise<void> {
  const write = async (journal: SessionJournal, name: string, body: unknown): Promise<void> => {
    await journal.append({ type: 'note', id: name, body: body as string });
    acknowledged.add(name);
  };
  const first = await store.create({ id, title: 't' });
  try {
    await write(first, 'a', 1);
    await write(first, 'large', 'x'.repeat(600_000));
    await first.append({ type: 'WorkspaceCheckpointed', id: 'c', body: checkpointBody(refOf(1)) });
    acknowledged.add('c');
    await Promise.all([write(first, 'b', 2), write(first, 'd', 3)]);
  } finally {
    await first.close();
  }
  const second = await store.open(id);
  try {
    await write(second, 'e', 4);
    await collect(second.events());
    await second.checkpoints();
  } finally {
    await second.close();
  }
}

describe('every call below may fail', () => {
  it.each(operations.flatMap((operation) => [false, true].map((forEver) => [operation, forEver] as const)))(
    '%s (for ever: %s), at each place until none is left',
    async (operation, forEver) => {
      let met = 0;
      for (let at = 1; ; at += 1) {
        const world = new FaultyWorld({ operation, at, forEver });
        const acknowledged = new Set<string>();
        let failure: unknown;
        try {
          await live(await world.faultyStore(), acknowledged);
        } catch (error) {
          failure = error;
        }
        if (world.calls < at) break;
        met += 1;
        if (failure !== undefined && !(failure instanceof AggregateError)) {
          const typed = isJournalError(failure) || isLeaseError(failure) || operation.startsWith('blob');
          if (!typed) throw new Error(`call ${at} of ${operation}: not a typed error`, { cause: failure });
        }
        // The fault is over: whatever was acknowledged is there once, and the session goes on.
        const store = await world.store();
        const exists = (await collect(store.list())).some((summary) => summary.id === id);
        if (!exists) {
          expect(acknowledged.size).toBe(0);
          await (await store.create({ id })).close();
          continue;
        }
        const journal = await store.open(id);
        const seen = (await collect(journal.events())).map((event) => event.id);
        expect(new Set(seen).size).toBe(seen.length);
        for (const name of acknowledged) expect([at, name, seen.includes(name)]).toEqual([at, name, true]);
        await journal.append({ type: 'note', id: 'after', body: 1 });
        await journal.verify();
        await journal.close();
      }
      expect(met).toBeGreaterThan(0);
    },
  );
});

import { isHoldfastError } from '@holdfast/base';
import { type BackendFault, backendFaults, FaultScript } from '@holdfast/base/testing';
import {
  AppendVerifyError,
  JournalCorruptError,
  Ledger,
  LedgerBackendError,
  LedgerConflictError,
  MemoryLedgerDriver,
  MemoryLedgerStorage,
} from '@holdfast/journal';
import {
  type LedgerFaultOperation,
  type LedgerHarness,
  ledgerFaults,
  memoryLedgerHarness,
  scriptedLedgerDriver,
  verifyLedger,
} from '@holdfast/journal/testing';
import { describe, expect, it } from 'vitest';

const liars = new Set<BackendFault>(backendFaults.filter(({ lies }) => lies).map(({ kind }) => kind));
const name = 'a/log';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const rows = Object.entries(ledgerFaults).flatMap(([operation, kinds]) =>
  kinds.map((kind) => [operation as LedgerFaultOperation, kind] as const),
);
type Fate = 'written' | 'unknown' | 'refused';

async function textsOf(ledger: Ledger): Promise<string[]> {
  const texts: string[] = [];
  for await (const { data } of ledger.read(name)) texts.push(new TextDecoder().decode(data));
  return texts;
}

/** Appends, reads, lists and deletes as a client does that believes what it is told, and remembers that. */
async function work(ledger: Ledger): Promise<Map<string, Fate>> {
  const fates = new Map<string, Fate>();
  const attempt = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await call();
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
      return undefined;
    }
  };
  for (const text of ['one', 'two', 'three']) {
    const tip = (await attempt(async () => await ledger.tip(name))) ?? 0;
    try {
      await ledger.appendDefinite(name, tip, [bytes(text)]);
      fates.set(text, 'written');
    } catch (error) {
      const known = LedgerBackendError.is(error) || LedgerConflictError.is(error);
      if (!known && !AppendVerifyError.is(error)) throw error;
      fates.set(text, AppendVerifyError.is(error) ? 'unknown' : 'refused');
    }
  }
  await attempt(async () => await textsOf(ledger));
  await attempt(async () => {
    for await (const _ of ledger.list()) continue;
  });
  await attempt(async () => {
    await ledger.delete('other');
  });
  return fates;
}

describe('every fault of every operation of a ledger', () => {
  it('is one of the eighteen kinds', () => {
    const known = backendFaults.map(({ kind }) => kind);
    expect(known).toHaveLength(18);
    expect(rows.filter(([, kind]) => !known.includes(kind))).toEqual([]);
    // A ledger has no clock that anybody could see.
    expect(known.filter((kind) => !rows.some(([, used]) => used === kind))).toEqual(['clock-jump']);
  });

  it.each(rows.filter(([, kind]) => !liars.has(kind)))(
    '%s: %s leaves what was said true',
    async (operation, kind) => {
      for (const times of [1, 2, 'always'] as const) {
        // Until a run meets no fault any more.
        for (let nth = 1; ; nth += 1) {
          const storage = new MemoryLedgerStorage();
          const script = new FaultScript<LedgerFaultOperation>([{ operation, kind, nth, times }]);
          const ledger = new Ledger(scriptedLedgerDriver(new MemoryLedgerDriver({ storage }), script));
          const fates = await work(ledger);
          await script.deliver();
          const found = await textsOf(new Ledger(new MemoryLedgerDriver({ storage })));
          const where = `${times} from call ${nth}`;
          expect(new Set(found).size, where).toBe(found.length);
          for (const [text, fate] of fates) {
            if (fate === 'written') expect(found, where).toContain(text);
            if (fate === 'refused') expect(found, where).not.toContain(text);
          }
          if (script.fired.length === 0) break;
          expect(nth).toBeLessThan(40);
        }
      }
    },
  );

  it('with a disk that is full says so in its cause, and goes on when there is room again', async () => {
    const script = new FaultScript<LedgerFaultOperation>([{ operation: 'append', kind: 'short-write' }]);
    const ledger = new Ledger(scriptedLedgerDriver(new MemoryLedgerDriver(), script));
    const error = await ledger.append(name, 0, [bytes('x')]).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'JOURNAL_BACKEND', effect: 'none', cause: { code: 'ENOSPC' } });
    await ledger.append(name, 0, [bytes('x')]);
  });
});

/** The memory driver, lying in one way for ever. */
function lyingHarness(operation: LedgerFaultOperation, kind: BackendFault): LedgerHarness {
  const inner = memoryLedgerHarness();
  const storages = new WeakMap<Ledger, MemoryLedgerStorage>();
  const open = (storage: MemoryLedgerStorage): Ledger => {
    const script = new FaultScript<LedgerFaultOperation>([{ operation, kind, times: 'always' }]);
    const ledger = new Ledger(scriptedLedgerDriver(new MemoryLedgerDriver({ storage }), script));
    storages.set(ledger, storage);
    return ledger;
  };
  const again = async (ledger: Ledger): Promise<Ledger> =>
    await Promise.resolve(open(storages.get(ledger) as MemoryLedgerStorage));
  return {
    ...inner,
    adapter: `memory, with ${kind} of ${operation}`,
    fresh: async () => await Promise.resolve(open(new MemoryLedgerStorage())),
    reopen: again,
    crash: again,
    loseReply: undefined,
    // Who waits for what never comes has seen enough.
    limits: { ...inner.limits, caseMilliseconds: 2_000 },
  };
}

describe('a ledger that always lies', () => {
  it.each(rows.filter(([, kind]) => liars.has(kind)))(
    'is noticed by the suite: %s: %s',
    async (operation, kind) => {
      const { cases } = await verifyLedger(lyingHarness(operation, kind));
      const killers = cases.filter(({ outcome }) => outcome === 'failed').map(({ clause }) => clause);
      expect(killers).not.toEqual([]);
    },
  );

  it('about the end of a read is noticed by the reader', async () => {
    const storage = new MemoryLedgerStorage();
    await new Ledger(new MemoryLedgerDriver({ storage })).append(name, 0, [bytes('a'), bytes('b')]);
    for (const kind of ['short-read', 'disordered-list'] as const) {
      const script = new FaultScript<LedgerFaultOperation>([{ operation: 'read', kind }]);
      const ledger = new Ledger(scriptedLedgerDriver(new MemoryLedgerDriver({ storage }), script));
      await expect(textsOf(ledger)).rejects.toSatisfy((error) => JournalCorruptError.is(error));
    }
  });
});

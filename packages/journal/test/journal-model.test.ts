import { seededRandom } from '@holdfast/base/testing';
import {
  AppendVerifyError,
  emptyFold,
  type FoldInput,
  foldRecord,
  JournalFencedError,
  LedgerBackendError,
  type LedgerDriver,
  type SessionFold,
  type SessionJournal,
} from '@holdfast/journal';
import { describe, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { checkpointBody, collect, refOf, World } from './support/world.js';

const id = 'session-0001';

/** What a model knows of an event: acknowledged ones are there once, the unknown may be there once, refused ones never. */
type Fate = 'acknowledged' | 'unknown' | 'refused';

interface Owner {
  readonly journal: SessionJournal;
  readonly world: World;
  /** Another owner has opened the session since. */
  stale: boolean;
}

/** Runs random appends, batches, faults, crashes and take-overs, and compares with the model after each opening. */
async function run(
  seed: number,
  steps: number,
  mistaken?: (driver: LedgerDriver) => LedgerDriver,
): Promise<{ events: number; openings: number; unknown: number }> {
  const random = seededRandom(seed);
  const world = new World({ notes: random.below(2) === 0, seed, mistaken });
  const fates = new Map<string, Fate>();
  /** Where the acknowledged events were said to be. */
  const places = new Map<string, number>();
  const contents = new Map<string, unknown>();
  let counter = 0;
  let openings = 0;
  const stale: Owner[] = [];
  let owner: Owner = { journal: await (await world.store()).create({ id }), world, stale: false };

  const settle = async (
    name: string,
    attempt: Promise<{ readonly seq: number }>,
    from: Owner,
  ): Promise<void> => {
    try {
      const { seq } = await attempt;
      if (from.stale) throw new Error(`a stale owner's append of ${name} was acknowledged`);
      expect(places.get(name) ?? seq).toBe(seq);
      fates.set(name, 'acknowledged');
      places.set(name, seq);
    } catch (error) {
      if (AppendVerifyError.is(error)) fates.set(name, 'unknown');
      else if (LedgerBackendError.is(error) || JournalFencedError.is(error)) fates.set(name, 'refused');
      else if (from.stale && from.journal.signal.aborted) fates.set(name, 'refused');
      else throw error;
    }
  };

  const append = async (from: Owner): Promise<void> => {
    const size = 1 + random.below(4);
    const names = Array.from({ length: size }, () => `e${(counter += 1)}`);
    for (const name of names) contents.set(name, { name, text: 'x'.repeat(random.below(30)) });
    await Promise.all(
      names.map(async (name) => {
        const body = contents.get(name) as { name: string };
        await settle(name, from.journal.append({ type: 'note', id: name, body }), from);
      }),
    );
  };

  const verify = async (): Promise<void> => {
    const events = await collect(owner.journal.events());
    const seen = events.map((event) => event.id);
    expect(new Set(seen).size).toBe(seen.length);
    for (const event of events) {
      if (event.type === 'note') expect(event.body).toEqual(contents.get(event.id));
      expect(fates.get(event.id)).not.toBe('refused');
    }
    const found = new Map(events.map((event) => [event.id, event.seq]));
    for (const [name, seq] of places) expect([name, found.get(name)]).toEqual([name, seq]);
    let fold: SessionFold = emptyFold;
    for await (const record of owner.journal.records()) fold = foldRecord(fold, record as FoldInput);
    expect(plain(owner.journal.fold)).toEqual(plain(fold));
    await owner.journal.verify();
  };

  const takeOver = async (): Promise<void> => {
    world.cutOff(id);
    const before = owner;
    // From here on an append of the old owner may still land; after the new fence it must not.
    const journal = await (await world.store()).open(id);
    before.stale = true;
    stale.push(before);
    owner = { journal, world, stale: false };
    openings += 1;
    await verify();
  };

  for (let step = 0; step < steps; step += 1) {
    switch (random.below(12)) {
      case 0:
        world.faults?.arm({
          operation: 'append',
          kind: random.pick(['landed', 'not-landed', 'error', 'late'] as const),
        });
        if (random.below(2) === 0) {
          world.faults?.arm({
            operation: 'append',
            kind: random.pick(['landed', 'not-landed', 'error'] as const),
          });
        }
        break;
      case 1:
        world.faults?.arm({ operation: random.pick(['tip', 'read'] as const), kind: 'error' });
        break;
      case 2:
        await world.faults?.deliver();
        break;
      case 3:
        await takeOverSafely(takeOver);
        break;
      case 4: {
        const name = `e${(counter += 1)}`;
        contents.set(name, undefined);
        const body = checkpointBody(refOf(counter));
        await settle(name, owner.journal.append({ type: 'WorkspaceCheckpointed', id: name, body }), owner);
        break;
      }
      case 5: {
        // A retry of something acknowledged, or of something unknown, is never written twice.
        const name = [...fates.keys()][random.below(Math.max(1, fates.size))];
        if (name === undefined || contents.get(name) === undefined) break;
        if (fates.get(name) === 'refused') break;
        const before = fates.get(name) as Fate;
        const body = contents.get(name) as { name: string };
        await settle(name, owner.journal.append({ type: 'note', id: name, body }), owner);
        // A retry that failed says nothing about the first try.
        if (fates.get(name) !== 'acknowledged') fates.set(name, before);
        break;
      }
      case 6: {
        const old = stale.at(random.below(Math.max(1, stale.length)));
        if (old !== undefined) await append(old);
        break;
      }
      case 7: {
        const names = [`e${(counter += 1)}`, `e${(counter += 1)}`];
        for (const name of names) contents.set(name, { name });
        const batch = owner.journal.appendBatch(
          names.map((name) => ({ kind: 'event', type: 'note', id: name, body: { name } }) as const),
        );
        await Promise.all(
          names.map(async (name, index) => {
            const place = batch.then((appended) => appended[index] as { readonly seq: number });
            await settle(name, place, owner);
          }),
        );
        break;
      }
      default:
        await append(owner);
    }
  }
  await takeOverSafely(takeOver);
  const unknown = [...fates.values()].filter((fate) => fate === 'unknown').length;
  for (const old of [...stale, owner]) await old.journal.close().catch(() => undefined);
  return { events: places.size, openings, unknown };
}

/** An opening may meet an injected fault; then it is tried again, as an operator would. */
async function takeOverSafely(takeOver: () => Promise<void>): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await takeOver();
      return;
    } catch (error) {
      if (attempt === 8 || !(LedgerBackendError.is(error) || AppendVerifyError.is(error))) throw error;
    }
  }
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

const base = Number(process.env['HOLDFAST_SEED'] ?? 1);
/** Histories that are simulated; `HOLDFAST_RUNS` raises it. */
const runs = Number(process.env['HOLDFAST_RUNS'] ?? 100);

describe('the journal against a model', () => {
  it(
    'keeps every acknowledged event once and in order, whatever fails, crashes and takes over',
    async () => {
      const total = { events: 0, openings: 0, unknown: 0 };
      for (let seed = base; seed < base + runs; seed += 1) {
        try {
          const result = await run(seed, 40);
          total.events += result.events;
          total.openings += result.openings;
          total.unknown += result.unknown;
        } catch (error) {
          throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
        }
      }
      countForCampaign('simulated journal histories', runs);
      // The run must have met what it is for.
      expect(total.openings).toBeGreaterThan(runs);
      expect(total.unknown).toBeGreaterThan(runs / 4);
      expect(total.events).toBeGreaterThan(runs * 20);
    },
    60_000 + runs * 300,
  );
});

/** The driver with another way to append. */
const appending =
  (append: (driver: LedgerDriver, ...call: Parameters<LedgerDriver['append']>) => Promise<void>) =>
  (driver: LedgerDriver): LedgerDriver =>
    new Proxy(driver, {
      get: (target, name) => {
        if (name === 'append')
          return async (...call: Parameters<LedgerDriver['append']>) => await append(driver, ...call);
        const own: unknown = Reflect.get(target, name, target);
        return typeof own === 'function' ? (own.bind(target) as unknown) : own;
      },
    });

/** Mistakes on purpose, each with what the model has to say about it. */
const mistakes: readonly (readonly [string, RegExp, (driver: LedgerDriver) => LedgerDriver])[] = [
  [
    'a ledger that appends wherever the end is',
    /stale owner|chain|epoch|JOURNAL_CORRUPT|broken/i,
    appending(async (driver, name, _, records, options) => {
      await driver.append(name, await driver.tip(name, options), records, options);
    }),
  ],
  [
    'a ledger that acknowledges what it did not write',
    /expected \[|to (?:deeply )?equal/,
    (driver) => {
      let calls = 0;
      return appending(async (inner, ...call) => {
        calls += 1;
        if (calls % 7 !== 0) await inner.append(...call);
      })(driver);
    },
  ],
];

describe('a planted mistake', () => {
  it.each(mistakes)('is found by simulated histories: %s', async (_, says, mistaken) => {
    const found: string[] = [];
    for (let seed = 1; seed <= 20 && found.length === 0; seed += 1) {
      await run(seed, 40, mistaken).catch((error: unknown) => found.push(String(error)));
    }
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(says);
  });
});

import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findCause } from '@holdfast/base';
import { seededRandom } from '@holdfast/base/testing';
import { JournalCorruptError, type SessionLedgers, SessionStore } from '@holdfast/journal';
import { memorySessionParts } from '@holdfast/journal/testing';
import { openLevelLedgers } from '@holdfast/level';
import { afterAll, describe, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';

const id = 'session-0001';
// Thousands of openings: a file system in memory where there is one.
const base = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-damage-'));
afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

/** `HOLDFAST_CAMPAIGN=1` runs every bit and every length; else one bit of each byte and every fourth length. */
const campaign = process.env['HOLDFAST_CAMPAIGN'] === '1';
const seed = Number(process.env['HOLDFAST_SEED'] ?? 1);
const parts = memorySessionParts();

type Mistaken = (ledgers: SessionLedgers) => SessionLedgers;

async function withStore<T>(
  directory: string,
  work: (store: SessionStore) => Promise<T>,
  mistaken: Mistaken = (ledgers) => ledgers,
): Promise<T> {
  const ledgers = await openLevelLedgers(directory);
  const store = await SessionStore.open({ ...parts, ledgers: mistaken(ledgers) });
  try {
    return await work(store);
  } finally {
    await store.close();
    await ledgers.close();
  }
}

/** A small session that was closed; `openings` above one puts its first records into a table. */
async function makeSession(directory: string, openings: number): Promise<readonly unknown[]> {
  const bodies: unknown[] = [];
  for (let opening = 0; opening < openings; opening += 1) {
    await withStore(directory, async (store) => {
      const journal = opening === 0 ? await store.create({ id }) : await store.open(id);
      for (let count = 0; count < 2; count += 1) {
        bodies.push({ opening, count });
        await journal.append({ type: 'note', body: { opening, count } });
      }
      await journal.close();
    });
  }
  return bodies;
}

/** What opening, reading and appending give: everything, or a typed refusal. Nothing else may happen. */
async function outcomeOf(
  directory: string,
  bodies: readonly unknown[],
  mistaken?: Mistaken,
): Promise<'whole' | 'corrupt'> {
  const outcome = async (store: SessionStore): Promise<'whole' | 'corrupt'> => {
    try {
      const journal = await store.open(id);
      const seen: unknown[] = [];
      for await (const event of journal.events()) seen.push(event.body);
      expect(seen).toEqual(bodies);
      await journal.append({ type: 'note', body: 'more' });
      expect(journal.fold.events).toBe(bodies.length + 1);
      await journal.close();
      return 'whole';
    } catch (error) {
      if (findCause(error, JournalCorruptError) === undefined) throw error;
      return 'corrupt';
    }
  };
  return await withStore(directory, outcome, mistaken);
}

/** Opens a session with one of its files damaged. */
async function damaged(
  work: string,
  home: string,
  bodies: readonly unknown[],
  { file, bytes, what }: { readonly file: string; readonly bytes: Uint8Array; readonly what: string },
  mistaken?: Mistaken,
): Promise<'whole' | 'corrupt'> {
  rmSync(work, { recursive: true, force: true });
  cpSync(home, work, { recursive: true });
  writeFileSync(join(work, id, file), bytes);
  try {
    return await outcomeOf(work, bodies, mistaken);
  } catch (error) {
    throw new Error(`seed ${seed}, ${file}, ${what}: ${String(error)}`, { cause: error });
  }
}

describe('every flipped bit and every truncation of every file of a small session', () => {
  it.each([
    ['whose records are in the log', 1],
    ['whose first records are in a table', 2],
  ])(
    '%s',
    async (_, openings) => {
      const home = join(base, `home-${openings}`);
      const bodies = await makeSession(home, openings);
      const database = readdirSync(join(home, id, 'ledger'));
      expect(database.some((name) => name.endsWith('.ldb'))).toBe(openings > 1);
      const files = [
        ...database.filter((name) => name !== 'LOCK').map((name) => join('ledger', name)),
        'refs',
        'summary',
      ];
      const random = seededRandom(seed);
      const counts = { whole: 0, corrupt: 0 };
      const work = join(base, `work-${openings}`);
      const check = async (file: string, bytes: Uint8Array, what: string): Promise<void> => {
        counts[await damaged(work, home, bodies, { file, bytes, what })] += 1;
      };
      for (const file of files) {
        const bytes = readFileSync(join(home, id, file));
        // The engine's own diary is text that nobody reads.
        const stride = /LOG/.test(file) ? 97 : 1;
        for (let at = 0; at < bytes.length; at += stride) {
          for (const bit of campaign ? [0, 1, 2, 3, 4, 5, 6, 7] : [random.below(8)]) {
            const flipped = Uint8Array.from(bytes);
            flipped[at] = (flipped[at] as number) ^ (1 << bit);
            await check(file, flipped, `bit ${bit} of byte ${at}`);
          }
        }
        const start = campaign ? 0 : random.below(4);
        for (let length = start; length < bytes.length; length += stride * (campaign ? 1 : 4)) {
          await check(file, bytes.subarray(0, length), `cut to ${length} bytes`);
        }
      }
      countForCampaign('damaged databases opened', counts.whole + counts.corrupt);
      expect(counts.corrupt).toBeGreaterThan(statSync(join(home, id, 'refs')).size);
      expect(await outcomeOf(home, bodies)).toBe('whole');
    },
    campaign ? 3_600_000 : 600_000,
  );

  it('and every file that is missing', async () => {
    const home = join(base, 'home-missing');
    const bodies = await makeSession(home, 2);
    const work = join(base, 'work-missing');
    for (const file of [
      ...readdirSync(join(home, id, 'ledger')).map((name) => join('ledger', name)),
      'refs',
      'ledger',
    ]) {
      rmSync(work, { recursive: true, force: true });
      cpSync(home, work, { recursive: true });
      rmSync(join(work, id, file), { recursive: true });
      const expected = /LOCK|LOG/.test(file) ? 'whole' : 'corrupt';
      expect([file, await outcomeOf(work, bodies)]).toEqual([file, expected]);
    }
  });

  // The engine takes what follows the last whole record of its log for a write that was cut off by a crash. Only the note
  // of what was acknowledged tells that it was more.
  it.each<readonly [string, Mistaken]>([
    ['what was acknowledged is not noted', (ledgers) => without(ledgers, 'notes')],
  ])('finds a planted mistake: %s', async (_, mistaken) => {
    const home = join(base, 'home-mistaken');
    const bodies = await makeSession(home, 1);
    const log = readdirSync(join(home, id, 'ledger')).find((name) => name.endsWith('.log')) as string;
    const file = join('ledger', log);
    const bytes = readFileSync(join(home, id, file));
    const lengths = Array.from({ length: bytes.length }, (__, cut) => bytes.length - 1 - cut);
    const tried = async (wrong?: Mistaken): Promise<string> => {
      for (const length of lengths.filter((_length, at) => at % 8 === 0)) {
        const damage = { file, bytes: bytes.subarray(0, length), what: `cut to ${length} bytes` };
        try {
          await damaged(join(base, 'work-mistaken'), home, bodies, damage, wrong);
        } catch (error) {
          return String(error);
        }
      }
      return 'nothing found';
    };
    expect(await tried()).toBe('nothing found');
    expect(await tried(mistaken)).toMatch(/cut to \d+ bytes/);
  });
});

/** The same ledgers without one of their members. */
function without(ledgers: SessionLedgers, member: keyof SessionLedgers): SessionLedgers {
  return new Proxy(ledgers, {
    get: (target, name) => {
      if (name === member) return undefined;
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === 'function' ? (own.bind(target) as unknown) : own;
    },
  });
}

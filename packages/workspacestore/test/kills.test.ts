import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { seededRandom } from '@holdfast/base/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { countForCampaign } from '../../../tools/campaign/count.mjs';
import type { Mistake } from './fixtures/store-mistakes.mjs';
import {
  ended,
  expectNothingLeft,
  expectWhole,
  live,
  recorded,
  start,
  Testimony,
  type Told,
} from './support/store-life.js';
import { remove } from './support/temporary.js';

/**
 * Processes that snapshot, maintain and collect one store on the disk and are killed before any of their changes of it.
 * What somebody was given or has recorded is whole afterwards, no ref is found without its content, and the next
 * collection leaves nothing behind.
 */

const kills = Number(process.env['HOLDFAST_COLLECT_KILLS'] ?? 6);
const seed = Number(process.env['HOLDFAST_SEED'] ?? 1);

/** A kill takes away no page of the kernel: what is to be durable needs no disk here. */
const memory = fs.existsSync('/dev/shm') ? '/dev/shm' : fs.realpathSync(tmpdir());
const places: string[] = [];
let prepared: Prepared;

beforeAll(async () => {
  prepared = await prepare();
});

afterEach(() => {
  for (const place of places.splice(0)) if (place !== prepared.place) remove(place);
});

afterAll(() => {
  remove(prepared.place);
});

function newPlace(): string {
  const place = fs.mkdtempSync(path.join(memory, 'workspacestore-kills-'));
  places.push(place);
  return place;
}

interface Prepared {
  readonly place: string;
  readonly testimony: Testimony;
}

/** A store in which one life was lived: archives enough to merge, some of them dead. */
async function prepare(): Promise<Prepared> {
  const place = newPlace();
  const testimony = new Testimony();
  testimony.add((await live(place, { role: 'life', name: 'a', seed: seed * 1_000 })).told);
  return { place, testimony };
}

function copyOf({ place, testimony }: Prepared): Prepared {
  const copy = newPlace();
  fs.cpSync(place, copy, { recursive: true, verbatimSymlinks: true });
  return { place: copy, testimony: testimony.copy() };
}

/** Seeds of the lives that follow; no two processes of a place may have the same, as they make names of them. */
const seedOf = (number: number): number => seed * 1_000 + number;

async function expectEnd(
  place: string,
  testimony: Testimony,
  where: string,
  mistake?: Mistake,
): Promise<void> {
  await expectNothingLeft(place, where, mistake);
  testimony.letGo();
  await expectWhole(place, testimony, `${where}; at the end`);
}

/** Numbers of changes, each operation in its turn, at random among its changes; `only` those that begin so. */
function pickPoints(changes: readonly string[], count: number, only = ''): number[] {
  const random = seededRandom(seed);
  const byOperation = new Map<string, number[]>();
  for (const [index, change] of changes.entries()) {
    if (!change.startsWith(only)) continue;
    const operation = change.split(' ')[0] as string;
    byOperation.set(operation, [...(byOperation.get(operation) ?? []), index + 1]);
  }
  const operations = [...byOperation.values()];
  return Array.from({ length: count }, (_, turn) =>
    random.pick(operations[turn % operations.length] as number[]),
  );
}

/**
 * Kills a life in each of its operations by turns, every third time the next one as well, and looks after each. Returns
 * where it was killed.
 */
async function killAlone(
  count: number,
  planted: { readonly mistake?: Mistake; readonly only?: string } = {},
): Promise<string[]> {
  const { mistake } = planted;
  const rehearsal = copyOf(prepared);
  const full = await live(rehearsal.place, { role: 'life', name: 'a', seed: seedOf(1), mistake });
  const did = (what: string, much: (line: Told) => number | undefined): number =>
    full.told.filter((line) => line.what === what && (much(line) ?? 0) > 0).length;
  expect(did('maintained', ({ merged }) => merged)).toBeGreaterThan(0);
  expect(did('collected', ({ archives }) => archives)).toBeGreaterThan(0);
  const random = seededRandom(seed);
  const killed: string[] = [];
  for (const [turn, nth] of pickPoints(full.changes, count, planted.only).entries()) {
    const { place, testimony } = copyOf(prepared);
    const first = await live(place, { role: 'life', name: 'a', seed: seedOf(1), killAt: nth, mistake });
    testimony.add(first.told);
    // Everything in a life comes from its seed: it is at the same change again.
    expect(first.killed, `change ${nth}`).toBe(
      full.changes[nth - 1]?.replace(' ', ', before ').concat(` (${nth})`),
    );
    killed.push(first.killed as string);
    let where = `seed ${seed}, killed in ${first.killed}`;
    await expectWhole(place, testimony, where);
    if (turn % 3 === 2) {
      const killAt = 1 + random.below(full.changes.length / 3);
      const second = await live(place, { role: 'next', name: 'a', seed: seedOf(2), killAt, mistake });
      testimony.add(second.told);
      if (second.killed !== undefined) killed.push(second.killed);
      where += `, and then in ${second.killed ?? 'nothing'}`;
      await expectWhole(place, testimony, where);
    }
    const next = await live(place, { role: 'next', name: 'a', seed: seedOf(3), mistake });
    testimony.add(next.told);
    await expectWhole(place, testimony, `${where}; after the next life`);
    await expectEnd(place, testimony, where, mistake);
    remove(place);
  }
  return killed;
}

describe(`SIGKILL, seed ${seed}`, () => {
  test(
    `${kills} times in a life of a store: nothing that was given out is lost, and nothing stays`,
    async () => {
      const killed = await killAlone(kills);
      countForCampaign('stores killed', killed.length);
      console.log(`killed in ${killed.join('; ')}`);
    },
    120_000 + kills * 30_000,
  );

  test.each([
    ['archives are deleted before records', 'collect unlink', /found v1/],
    ['collectors see no logs', 'publish', /needed v1/],
    ['collectors delete no archives', 'snapshot', /left behind/],
  ] as const)(
    'is noticed to do harm when %s',
    async (mistake, only, found) => {
      await expect(killAlone(30, { mistake, only })).rejects.toThrow(found);
    },
    900_000,
  );

  test(
    `${kills} times among two writers and two collectors`,
    async () => {
      const place = newPlace();
      const testimony = new Testimony();
      const random = seededRandom(seed);
      const killed = { writer: 0, collector: 0 };
      const stories: string[] = [];
      let lives = 0;
      const lane = async (role: 'writer' | 'collector', name: string): Promise<void> => {
        while (killed.writer + killed.collector < kills || killed.collector === 0 || killed.writer === 0) {
          lives += 1;
          const killAt = 1 + random.below(role === 'writer' ? 700 : 60);
          const life = await live(place, { role, name, seed: seedOf(lives), killAt });
          testimony.add(life.told);
          if (life.killed === undefined) continue;
          killed[role] += 1;
          stories.push(`${name} in ${life.killed}`);
        }
      };
      await Promise.all([
        lane('writer', 'a'),
        lane('writer', 'b'),
        lane('collector', 'c'),
        lane('collector', 'd'),
      ]);
      countForCampaign('stores killed', killed.writer + killed.collector);
      const where = `seed ${seed}, killed ${stories.join('; ')}`;
      await expectWhole(place, testimony, where);
      await expectEnd(place, testimony, where);
    },
    120_000 + kills * 30_000,
  );
});

test('two processes that snapshot one tree at once, beside collections in a third, are given one whole ref', async () => {
  const rounds = 8;
  const place = newPlace();
  const testimony = new Testimony();
  const root = path.join(place, 'root-shared');
  fs.mkdirSync(root);
  const random = seededRandom(seed);
  const askers = ['a', 'b'].map((name, number) => {
    const child = start(place, { role: 'asked', name, seed: seedOf(900 + number) });
    const end = ended(child, name);
    // Looked at when everything is over.
    end.catch(() => undefined);
    return { child, end, lines: new Lines(child) };
  });
  let collecting = true;
  const collections = (async () => {
    for (let life = 0; collecting || life === 0; life += 1)
      await live(place, { role: 'collector', name: 'c', seed: seedOf(life) });
  })();
  try {
    await Promise.all(askers.map(({ lines }) => lines.next('ready')));
    for (let round = 0; round < rounds; round += 1) {
      // Few contents: some come back after everybody has let them go.
      fs.writeFileSync(path.join(root, 'a'), `content ${random.below(3)}`);
      fs.writeFileSync(path.join(root, 'b'), `content ${random.below(2)}`.repeat(5_000));
      for (const { child } of askers) child.stdin?.write(`${round}\n`);
      const answers = await Promise.all(
        askers.map(async ({ lines }) => {
          const returned = await lines.next('returned');
          await lines.next('answered');
          return returned;
        }),
      );
      expect(new Set(answers.map(({ ref }) => ref)).size, `round ${round}`).toBe(1);
      expect(new Set(answers.map(({ tree }) => tree)).size, `round ${round}`).toBe(1);
    }
  } finally {
    collecting = false;
    for (const { child } of askers) child.stdin?.end();
    await Promise.allSettled([collections, ...askers.map(({ end }) => end)]);
  }
  await collections;
  for (const { end } of askers) testimony.add((await end).told);
  expect(recorded(place)).toHaveLength(2);
  await expectWhole(place, testimony, `seed ${seed}`);
  await expectEnd(place, testimony, `seed ${seed}`);
}, 300_000);

/** What a process tells, line by line. */
class Lines {
  readonly #lines: Told[] = [];
  #more: () => void = () => undefined;
  #over = false;

  constructor(child: ReturnType<typeof start>) {
    let text = '';
    child.stdout?.on('data', (data: Buffer) => {
      const lines = (text + data.toString()).split('\n');
      text = lines.pop() as string;
      this.#lines.push(...lines.map((line) => JSON.parse(line) as Told));
      this.#more();
    });
    child.once('close', () => {
      this.#over = true;
      this.#more();
    });
  }

  /** Waits for the next line of this sort. */
  async next(what: string): Promise<Told> {
    for (;;) {
      while (this.#lines.length > 0) {
        const line = this.#lines.shift() as Told;
        if (line.what === what) return line;
      }
      if (this.#over) throw new Error(`it ended before it told that it ${what}`);
      await new Promise<void>((resolve) => (this.#more = resolve));
    }
  }
}

import * as fs from 'node:fs';
import * as path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { layerBlobs } from '@holdfast/blobs/layers';
import { type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { describe, expect, test } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { Interleaving } from './support/interleaving.js';
import { passOn } from './support/pass-on.js';
import { contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

/** Orders of events that are tried; a campaign asks for more. */
const interleavings = Number(process.env['HOLDFAST_INTERLEAVINGS'] ?? 15);
const firstSeed = Number(process.env['HOLDFAST_SEED'] ?? 0);

const top = temporaryDirectory();

/** What is wrong with a world: a ref that somebody may need and that is not whole. */
class Lost extends Error {}

interface Journal {
  readonly name: string;
  refs: Ref[];
}

type Driver = Parameters<NonNullable<Parameters<Interleaving['view']>[2]>>[0];
type Mutant = (driver: Driver, role: 'session' | 'collector') => Driver;

/**
 * Sessions that snapshot, crash, publish and forget, beside collectors, in an order that the seed decides. Throws `Lost`
 * when a published ref, or one that was just returned, is not whole.
 */
async function world(seed: number, mutant?: Mutant): Promise<Blobs> {
  const shared = memoryBlobs();
  const interleaving = new Interleaving(seed);
  const { random } = interleaving;
  const journals: Journal[] = [];
  const check = async (ref: Ref, when: string): Promise<void> => {
    await withStore(shared, { threads: false }, async (store) => {
      const { problems } = await store.verify(ref, { deep: true });
      if (problems.length > 0) throw new Lost(`seed ${seed}: ${when}: ${problems[0]?.message ?? ''}`);
    });
  };
  const view = (actor: string, role: 'session' | 'collector'): Blobs =>
    interleaving.view(shared, actor, mutant && ((driver) => mutant(driver, role)));

  const session = async (name: string): Promise<void> => {
    const root = path.join(top, `${seed}-${name}`);
    fs.mkdirSync(root, { recursive: true });
    const journal: Journal = { name, refs: [] };
    journals.push(journal);
    const open = () => WorkspaceStore.open(view(name, 'session'), { random, threads: false });
    let store = await open();
    for (let turn = 0; turn < 6; turn += 1) {
      // A few contents only, so that sessions meet each other's objects and old ones come back.
      fs.writeFileSync(path.join(root, `f${random.below(2)}`), `content ${random.below(4)}`);
      const base = journal.refs.at(-1);
      const { ref, hold } = await store.snapshot(root, base === undefined ? {} : { base });
      await check(ref, `${name} was given a ref`);
      await interleaving.turn(name);
      if (random.below(6) === 0) {
        // Killed before the event: the next process knows nothing of the commit.
        store = await open();
        continue;
      }
      journal.refs.push(ref);
      store.release(hold);
      await interleaving.turn(name);
      await check(ref, `${name} published a ref`);
      // Retention drops old refs; now and then all of them, while the writer still knows their archives.
      journal.refs = random.below(3) === 0 ? [] : journal.refs.slice(-1 - random.below(2));
    }
    await store.close();
  };

  const collector = async (name: string): Promise<void> => {
    const store = await WorkspaceStore.open(view(name, 'collector'), { random, threads: false });
    for (let round = 0; round < 3; round += 1) {
      await interleaving.turn(name);
      await store
        .collect({
          live: async function* () {
            for (const journal of journals) {
              await interleaving.turn(name);
              yield* [...journal.refs];
            }
          },
        })
        .catch((error: unknown) => {
          // Two collectors may end each other; nothing else may go wrong.
          if (!String(error).includes('another collector')) throw error;
        });
      for (const { name: owner, refs } of journals)
        for (const ref of refs) await check(ref, `${owner} after ${name}`);
    }
    await store.close();
  };

  await interleaving.run([
    () => session('a'),
    () => session('b'),
    () => session('c'),
    () => collector('x'),
    () => collector('y'),
  ]);
  // In peace: everything that nobody holds goes, and nothing else.
  const live = journals.flatMap(({ refs }) => refs);
  await withStore(shared, { threads: false }, async (store) => {
    const writers = new Set<string>();
    for (const key of (await contents(shared)).keys())
      if (key.startsWith('writers/')) writers.add(key.slice(8, 40));
    for (const writer of writers) await store.forgetWriter(writer);
    const report = await store.collect({ live: () => live });
    expect(report.missing).toEqual([]);
    const { problems } = await store.verify('all', { deep: true });
    if (problems.length > 0) throw new Lost(`seed ${seed}: at the end: ${problems[0]?.message ?? ''}`);
    const needed = new Set<string>();
    for (const [key, bytes] of await contents(shared)) {
      if (!key.startsWith('snapshots/')) continue;
      for (const [, name] of Buffer.from(bytes)
        .toString()
        .matchAll(/"name":"([0-9a-f]{64})"/g))
        needed.add(name as string);
    }
    const archives = [...(await contents(shared)).keys()].filter((key) => key.startsWith('archives/'));
    expect(archives.map((key) => key.slice(-64)).filter((name) => !needed.has(name))).toEqual([]);
  });
  return shared;
}

/** Ways to break the protocol from outside. */
const mutants = {
  'writers are not shown what is condemned': (driver, role) => ({
    ...passOn(driver),
    list: async function* (prefix, options) {
      if (role === 'session' && prefix === 'gc/') return;
      yield* driver.list(prefix, options);
    },
  }),
  'writers believe that every archive is there': (driver, role) => ({
    ...passOn(driver),
    stat: async (key, options) => {
      const info = await driver.stat(key, options);
      return role === 'session' && key.startsWith('archives/') ? (info ?? { size: 1, modified: 0 }) : info;
    },
  }),
  'collectors retire nobody': (driver, role) => ({
    ...passOn(driver),
    put: async (key, source, options) => {
      if (role === 'collector' && key.startsWith('writers/') && source.size < 300) return { created: true };
      return await driver.put(key, source, options);
    },
  }),
  'collectors see no logs': (driver, role) => ({
    ...passOn(driver),
    list: async function* (prefix, options) {
      if (role === 'collector' && prefix === 'writers/') return;
      yield* driver.list(prefix, options);
    },
  }),
} satisfies Readonly<Record<string, Mutant>>;

/**
 * A writer whose archives are condemned while it still knows them: the collector is stopped before its first deletion, or
 * runs to its end, before the writer goes on. Tells whether the writer's next snapshot is whole.
 */
async function condemnedWriter(stop: 'before deleting' | 'never', mutant?: Mutant): Promise<boolean> {
  const shared = memoryBlobs();
  const root = fs.mkdtempSync(path.join(top, 'condemned-'));
  let arrived: () => void = () => undefined;
  let proceed: () => void = () => undefined;
  const atTheGate = new Promise<void>((resolve) => (arrived = resolve));
  const gate = new Promise<void>((resolve) => (proceed = resolve));
  const stopping = (driver: Driver): Driver => ({
    ...passOn(driver),
    delete: async (...call) => {
      arrived();
      if (stop === 'before deleting') await gate;
      await driver.delete(...call);
    },
  });
  const seen = layerBlobs(shared, mutant === undefined ? [] : [(driver) => mutant(driver, 'session')], {
    keepOpen: true,
  });
  const writer = await WorkspaceStore.open(seen, { threads: false });
  fs.writeFileSync(path.join(root, 'kept'), 'content that the next snapshot needs');
  const first = await writer.snapshot(root);
  writer.release(first.hold);
  fs.writeFileSync(path.join(root, 'other'), 'other');
  writer.release((await writer.snapshot(root)).hold);
  const collector = await WorkspaceStore.open(layerBlobs(shared, [stopping], { keepOpen: true }), {
    threads: false,
  });
  // A first collection makes the releases of the retired log visible: the writer registers anew.
  fs.writeFileSync(path.join(root, 'third'), 'third');
  const third = await writer.snapshot(root);
  writer.release(third.hold);
  await writer.forgetWriter(third.hold.slice(0, 32));
  const collecting = collector.collect({ live: () => [] });
  await (stop === 'before deleting' ? atTheGate : collecting);
  fs.rmSync(path.join(root, 'other'));
  const { ref } = await writer.snapshot(root);
  proceed();
  await collecting;
  const { problems } = await withStore(shared, { threads: false }, (store) =>
    store.verify(ref, { deep: true }),
  );
  return problems.length === 0;
}

describe('collection beside writers and other collections', () => {
  test.each([...Array(interleavings).keys()].map((index) => firstSeed + index))(
    'loses nothing and leaves nothing behind: seed %d',
    async (seed) => {
      await world(seed * 7919 + 1);
      countForCampaign('interleavings of collections and writers', 1);
    },
  );

  test.each(['collectors retire nobody', 'collectors see no logs'] as const)(
    'the worlds notice when %s',
    async (name) => {
      for (let seed = 0; seed < 100; seed += 1) {
        const outcome = await world(seed, mutants[name]).then(
          () => 'fine',
          () => 'lost',
        );
        if (outcome === 'lost') return;
      }
      throw new Error(`no seed out of 100 noticed that ${name}`);
    },
  );

  test.each([
    ['before deleting', 'writers are not shown what is condemned'],
    ['never', 'writers believe that every archive is there'],
  ] as const)('a writer does not rely on what is condemned: collector stopped %s', async (stop, name) => {
    expect(await condemnedWriter(stop)).toBe(true);
    // The scenario can fail: it does when the writer is deceived.
    expect(await condemnedWriter(stop, mutants[name])).toBe(false);
  });
});

import assert from 'node:assert/strict';

import { ManualClock } from '@holdfast/base/testing';
import { openFsBlobs } from '@holdfast/blobs/fs';
import { ForwardingFileSystem } from '@holdfast/durable/testing';
import { applyRestore, readOutcomes, reconcile, recover, swap, sweepScratch } from '@holdfast/restore';
import { WorkspaceStore } from '@holdfast/workspacestore';

import { openModelLedger } from '../model-ledger.mjs';
import { becomeTree, smallTree, treeAt } from './trees.mjs';

/** @typedef {import('../subject.mjs').Place} Place */
/** @typedef {import('../subject.mjs').Subject} Subject */
/** @typedef {import('@holdfast/durable').FileSystem} FileSystem */
/** @typedef {import('@holdfast/restore').RestoreStrategy} RestoreStrategy */
/** @typedef {import('@holdfast/workspacestore').Ref} Ref */

const log = 'restores';
const fence = 'opened';
const session = 'crashing';
const restoreId = '0123456789abcdef0123456789abcdef';
/** Whatever the subject wrote counts as old: what is young is a matter of other tests. */
const clock = () => new ManualClock(4_000_000_000_000);
const inertLock = async () =>
  await Promise.resolve({ [Symbol.asyncDispose]: async () => await Promise.resolve() });

const strategies = { reconcile: reconcile({ prune: 'exact' }), swap: swap({ fallback: false }) };

/** @param {Place} place */
const rootOf = ({ directory }) => `${directory}/base/root`;
/** @param {Place} place */
const oldTree = ({ seed }) => smallTree(seed * 2);
/** @param {Place} place */
const newTree = ({ seed }) => smallTree(seed * 2 + 1);

/** @param {Place} place @param {(store: WorkspaceStore) => Promise<void>} work */
async function withStore({ fileSystem, directory }, work) {
  const blobs = await openFsBlobs(`${directory}/store`, { fileSystem, clock: clock() });
  const store = await WorkspaceStore.open(blobs, { fileSystem, clock: clock() });
  try {
    await work(store);
  } finally {
    await store.close();
    await blobs.close();
  }
}

/** The journal of restores: a record for each thing that happened. @param {Place} place */
function journalOf({ fileSystem, directory }) {
  const ledger = openModelLedger(fileSystem, `${directory}/journal`);
  return {
    /** @param {string} what */
    append: async (what) => {
      await ledger.append(log, await ledger.tip(log), [new TextEncoder().encode(what)]);
    },
    /** What happened last to a restore. */
    last: async () => {
      /** @type {string | undefined} */
      let last;
      for await (const { data } of ledger.read(log)) {
        const what = new TextDecoder().decode(data);
        if (what !== fence) last = what;
      }
      return last;
    },
  };
}

/** Both trees are in the store, and the old one stands at the root. @param {Place} place */
async function setup(place) {
  const { fileSystem, directory } = place;
  for (const name of ['base', 'base/root', 'targets']) mkdir(fileSystem, directory, name);
  becomeTree(fileSystem, rootOf(place), newTree(place));
  await withStore(place, async (store) => {
    const { ref } = await store.snapshot(rootOf(place));
    mkdir(fileSystem, `${directory}/targets`, ref.replaceAll(':', '.'));
  });
  becomeTree(fileSystem, rootOf(place), oldTree(place));
}

/** @param {FileSystem} fileSystem @param {string} parent @param {string} name */
function mkdir(fileSystem, parent, name) {
  const cut = name.lastIndexOf('/');
  const dir = fileSystem.openRoot(cut < 0 ? parent : `${parent}/${name.slice(0, cut)}`);
  fileSystem.mkdir(dir, Buffer.from(name.slice(cut + 1)), 0o700);
  fileSystem.close(dir);
}

/** @param {Place} place */
function targetOf({ fileSystem, directory }) {
  const dir = fileSystem.openRoot(`${directory}/targets`);
  const [name] = fileSystem.readdir(dir);
  fileSystem.close(dir);
  return /** @type {Ref} */ (
    Buffer.from(name ?? [])
      .toString()
      .replaceAll('.', ':')
  );
}

/** @param {Place} place @param {RestoreStrategy} strategy @param {(what: string) => void} ack */
async function restore(place, strategy, ack) {
  const journal = journalOf(place);
  /** @param {string} what */
  const record = async (what) => {
    await journal.append(what);
    ack(what);
  };
  await withStore(place, async (store) => {
    await applyRestore(store, targetOf(place), rootOf(place), {
      session,
      owner: null,
      hostLock: inertLock,
      fileSystem: place.fileSystem,
      strategy,
      prune: 'exact',
      restoreId,
      clock: clock(),
      wholeSync: false,
      journal: {
        prepare: () => Buffer.from('restored'),
        started: async () => {
          await record('started');
          return 1;
        },
        restored: async (event) => await record(Buffer.from(event).toString()),
        aborted: async () => await record('aborted'),
      },
    });
  });
}

/** @param {Place} place @param {(what: string) => void} ack */
async function recoverRoot(place, ack) {
  const { fileSystem } = place;
  const journal = journalOf(place);
  // As the opening of a session does: its fence makes everything before it durable, so what is read then can be relied on.
  await journal.append(fence);
  await recover(rootOf(place), { isAlive: () => 'dead', fileSystem, clock: clock(), wholeSync: false });
  const outcomes = readOutcomes(rootOf(place), { fileSystem });
  for (const outcome of outcomes) {
    if ((await journal.last()) !== 'started') continue;
    const what = outcome.phase === 'committed' ? 'restored' : 'aborted';
    await journal.append(what);
    ack(what);
  }
  const settled = new Set(outcomes.map((outcome) => outcome.restoreId));
  await withStore(place, async (store) => {
    const scan = async (/** @type {string} */ path) => await store.scan(path);
    await sweepScratch(rootOf(place), { settled: (id) => settled.has(id), fileSystem, clock: clock(), scan });
  });
}

/** @type {Subject['recover']} */
const recoverAfterCrash = async (place, { ack }) => {
  await recoverRoot(place, (what) => ack([what]));
};

/** @type {Subject['check']} */
const check = async (place, { acked }) => {
  const { fileSystem, directory } = place;
  const recorded = await journalOf(place).last();
  const last = acked.at(-1)?.[0];
  if (last !== undefined && last !== 'started') assert.equal(recorded, last, 'what the journal acknowledged');
  const tree = treeAt(fileSystem, rootOf(place));
  const wanted = recorded === 'restored' ? newTree(place) : oldTree(place);
  assert.deepEqual(tree, describe(wanted), `the journal says ${recorded ?? 'nothing'}`);
  const dir = fileSystem.openRoot(`${directory}/base`);
  const names = fileSystem.readdir(dir).map((name) => Buffer.from(name).toString());
  fileSystem.close(dir);
  assert.deepEqual(names, ['root'], 'what is left beside the root');
};

/** A plan as `readTree` describes it. @param {import('@holdfast/durable/testing').TreePlan} plan */
function describe(plan) {
  const rows = Object.entries(plan).map(([path, node]) => {
    if (path.endsWith('/')) return [path.slice(0, -1), 'directory 700'];
    return [
      path,
      typeof node === 'string'
        ? `file 600 "${node}"`
        : `symlink "${/** @type {{ link: string }} */ (node).link}"`,
    ];
  });
  return Object.fromEntries(rows.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)));
}

/** @param {'reconcile' | 'swap'} strategy @returns {Subject} */
const restoring = (strategy) => ({
  name: `restore by ${strategy}`,
  promises:
    'the root is exactly the old tree or exactly the new one, whichever the journal says; nothing is left beside it',
  setup,
  run: async (place, { ack }) => {
    await restore(place, strategies[strategy], (what) => ack([what]));
  },
  recover: recoverAfterCrash,
  check,
});

export const reconciling = restoring('reconcile');
export const swapping = restoring('swap');

/** Ends the work of its holder at a change, as a kill does. */
class EndingFileSystem extends ForwardingFileSystem {
  #left;

  /** @param {FileSystem} inner @param {number} changes */
  constructor(inner, changes) {
    super(inner);
    this.#left = changes;
  }

  get ended() {
    return this.#left <= 0;
  }

  /** @type {ForwardingFileSystem['around']} */
  around(call, run) {
    if (call.changes) this.#left -= 1;
    if (this.ended && call.operation !== 'close') throw new Error('ended');
    return run();
  }
}

/** @type {Subject} */
export const recovering = {
  name: 'recovery of a restore',
  promises: 'a recovery that is cut off anywhere, and the one after it, end in the old tree or the new one',
  setup: async (place) => {
    await setup(place);
    const strategy = place.seed % 2 === 0 ? strategies.reconcile : strategies.swap;
    const ending = new EndingFileSystem(place.fileSystem, 20 + ((place.seed * 7) % 60));
    await restore({ ...place, fileSystem: ending }, strategy, () => undefined).catch(
      (/** @type {unknown} */ error) => {
        if (!ending.ended) throw error;
      },
    );
  },
  run: async (place, { ack }) => {
    await recoverRoot(place, (what) => ack([what]));
  },
  recover: recoverAfterCrash,
  check,
};

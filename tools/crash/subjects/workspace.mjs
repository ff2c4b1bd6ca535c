import assert from 'node:assert/strict';

import { ManualClock } from '@holdfast/base/testing';
import { openFsBlobs } from '@holdfast/blobs/fs';
import { WorkspaceStore } from '@holdfast/workspacestore';

import { becomeTree, smallTree, treeAt } from './trees.mjs';

/** @typedef {import('../subject.mjs').Place} Place */
/** @typedef {import('../subject.mjs').Subject} Subject */
/** @typedef {import('@holdfast/workspacestore').Ref} Ref */
/** @typedef {import('@holdfast/blobs').Blobs} Blobs */

/** @param {Place} place */
const rootOf = ({ directory }) => `${directory}/root`;

/** @template T @param {Place} place @param {(store: WorkspaceStore, blobs: Blobs) => Promise<T>} work @returns {Promise<T>} */
async function withStore({ fileSystem, directory }, work) {
  const clock = new ManualClock(4_000_000_000_000);
  const blobs = await openFsBlobs(`${directory}/store`, { fileSystem, clock });
  const store = await WorkspaceStore.open(blobs, { fileSystem, clock });
  try {
    return await work(store, blobs);
  } finally {
    await store.close();
    await blobs.close();
  }
}

/** @param {Place} place */
function makeRoot({ fileSystem, directory }) {
  const dir = fileSystem.openRoot(directory);
  fileSystem.mkdir(dir, Buffer.from('root'), 0o700);
  fileSystem.close(dir);
}

/**
 * Every ref that anybody can find is whole; so is every one that was acknowledged.
 * @param {WorkspaceStore} store
 * @param {Blobs} blobs
 * @param {import('../subject.mjs').Fact[]} acked
 */
async function checkRefs(store, blobs, acked) {
  const visible = new Set(acked.map(([, ref]) => /** @type {Ref} */ (ref)));
  for await (const { key } of blobs.list('snapshots/')) {
    const hex = /^snapshots\/([0-9a-f]{64})\//.exec(key)?.[1];
    if (hex !== undefined) visible.add(/** @type {Ref} */ (`v1:sha256:${hex}`));
  }
  for (const ref of visible) assert.deepEqual((await store.verify(ref, { deep: true })).problems, [], ref);
}

/** What a ref holds, as `readTree` describes it. @param {WorkspaceStore} store @param {Ref} ref */
async function contentOf(store, ref) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const row of await store.list(ref)) {
    if (row.kind === 'directory') found[row.path] = `directory ${row.mode.toString(8)}`;
    else if (row.kind === 'symlink') found[row.path] = `symlink "${row.target}"`;
    else {
      let text = '';
      for await (const chunk of await store.read(ref, row.path)) text += Buffer.from(chunk).toString();
      found[row.path] = `file ${row.mode.toString(8)} "${text}"`;
    }
  }
  return found;
}

/** @type {Subject} */
export const capture = {
  name: 'capture',
  slow: true,
  promises: 'a ref that was returned can be read and has the bytes of then; no ref that can be found is half',
  setup: async (place) => {
    makeRoot(place);
    becomeTree(place.fileSystem, rootOf(place), smallTree(place.seed * 3));
    await Promise.resolve();
  },
  run: async (place, { ack }) => {
    await withStore(place, async (store) => {
      const first = await store.snapshot(rootOf(place));
      ack([0, first.ref]);
      store.release(first.hold);
      becomeTree(place.fileSystem, rootOf(place), smallTree(place.seed * 3 + 1));
      const second = await store.snapshot(rootOf(place), { base: first.ref });
      ack([1, second.ref]);
      store.release(second.hold);
    });
  },
  recover: async (place, { ack }) => {
    // What stands there now may be anything; the next snapshot of it is as good as any.
    becomeTree(place.fileSystem, rootOf(place), smallTree(place.seed * 3 + 2));
    await withStore(place, async (store) => ack([2, (await store.snapshot(rootOf(place))).ref]));
  },
  check: async (place, { acked }) => {
    await withStore(place, async (store, blobs) => {
      await checkRefs(store, blobs, [...acked]);
      for (const [which, ref] of acked) {
        becomeTree(place.fileSystem, rootOf(place), smallTree(place.seed * 3 + Number(which)));
        const wanted = treeAt(place.fileSystem, rootOf(place));
        assert.deepEqual(await contentOf(store, /** @type {Ref} */ (ref)), wanted, String(ref));
      }
    });
  },
};

/** Enough snapshots for archives to be merged. */
const snapshots = 10;

/** @type {Subject} */
export const collecting = {
  name: 'collection and merge',
  slow: true,
  promises: 'what is live is whole at every moment, and the next collection still works',
  setup: async (place) => {
    makeRoot(place);
    await withStore(place, async (store) => {
      /** @type {Ref | undefined} */
      let base;
      for (let index = 0; index < snapshots; index += 1) {
        becomeTree(place.fileSystem, rootOf(place), {
          ...smallTree(place.seed),
          [`n${index}`]: `snapshot ${index}`,
        });
        const { ref, hold } = await store.snapshot(rootOf(place), base === undefined ? {} : { base });
        store.release(hold);
        base = ref;
      }
    });
  },
  run: async (place, { ack }) => {
    await tidy(place, ack);
  },
  recover: async (place, { ack }) => {
    await tidy(place, ack);
  },
  check: async (place, { acked }) => {
    await withStore(place, async (store, blobs) => await checkRefs(store, blobs, [...acked]));
    await tidy(place, () => undefined);
  },
};

/** Takes a snapshot, merges, and collects everything but the last two. @param {Place} place @param {(fact: readonly [string, Ref]) => void} ack */
async function tidy(place, ack) {
  await withStore(place, async (store) => {
    becomeTree(place.fileSystem, rootOf(place), { ...smallTree(place.seed), last: 'the last one' });
    const last = await store.snapshot(rootOf(place));
    ack(['live', last.ref]);
    store.release(last.hold);
    await store.maintain();
    const report = await store.collect({ live: () => [last.ref] });
    assert.deepEqual(report.missing, [], 'live refs that are missing');
    assert.deepEqual((await store.verify(last.ref, { deep: true })).problems, [], last.ref);
  });
}

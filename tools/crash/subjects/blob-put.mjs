import assert from 'node:assert/strict';

import { ManualClock, seededRandom } from '@holdfast/base/testing';
import { openFsBlobs } from '@holdfast/blobs/fs';

/** @typedef {import('../subject.mjs').Place} Place */

const keys = ['a', 'a/b', 'c', 'd/e/f'];

/** @param {Place} place */
const open = async ({ fileSystem, directory }) =>
  await openFsBlobs(`${directory}/store`, { fileSystem, clock: new ManualClock(0) });

/** @param {Place} place @param {string} key */
function contentOf({ seed }, key) {
  const random = seededRandom(seed);
  const text = `content of ${key}, long enough to be torn ${'.'.repeat(random.below(200))}`;
  return new TextEncoder().encode(text);
}

/** @type {import('../subject.mjs').Subject} */
export const blobPut = {
  name: 'blob put',
  promises: 'an acknowledged object is there and whole, a deleted one is gone, half an object is never seen',
  run: async (place, { ack }) => {
    const turn = place.seed % keys.length;
    const [one, two] = [await open(place), await open(place)];
    const order = [...keys.slice(turn), ...keys.slice(0, turn)];
    const [first, second, third] = /** @type {[string, string, string]} */ (order.slice(0, 3));
    await one.put(first, contentOf(place, first));
    ack(['put', first]);
    await Promise.all(
      [second, third].map(async (key, index) => {
        await (index === 0 ? one : two).put(key, contentOf(place, key));
        ack(['put', key]);
      }),
    );
    // What another one made may be relied upon only after it is durable.
    await two.put(first, contentOf(place, first));
    ack(['deleting', first]);
    await two.delete(first);
    ack(['deleted', first]);
    await one.close();
    await two.close();
  },
  recover: async (place) => {
    await (await open(place)).close();
  },
  check: async (place, { acked }) => {
    const store = await open(place);
    /** @type {Set<string>} */
    const listed = new Set();
    for await (const { key } of store.list()) listed.add(key);
    for (const key of keys) {
      const last = acked.filter(([, name]) => name === key).at(-1)?.[0];
      const there = (await store.stat(key)) !== undefined;
      assert.equal(listed.has(key), there, `${key}: listed and found`);
      if (last === 'put') assert.ok(there, `${key} was acknowledged`);
      if (last === 'deleted') assert.ok(!there, `${key} was deleted`);
      if (there) assert.deepEqual(await store.getBytes(key), contentOf(place, key), key);
    }
    for (const key of listed) assert.ok(keys.includes(key), `${key} is nobody's`);
    // And it goes on working.
    for (const key of keys) await store.put(key, contentOf(place, key));
    await store.close();
  },
};

import { memoryBlobs } from '@holdfast/blobs';
import { encryptionLayer, layerBlobs } from '@holdfast/blobs/layers';

/** @typedef {import('../target.mjs').Target} Target */

const layer = encryptionLayer({ keys: { k: new Uint8Array(32).fill(1) }, active: 'k' });
const contents = [0, 1, 700, 65_536, 65_537].map((size) => new Uint8Array(size).fill(size % 251));

/** @type {Target} */
export const encryptedObject = {
  name: 'encrypted-object',
  what: 'an object as encryption stores it, whole and in part',
  seeds: async () => {
    const stored = memoryBlobs();
    const blobs = layerBlobs(stored, [layer], { keepOpen: true });
    const seeds = [];
    for (const content of contents) {
      await blobs.put('object', content);
      seeds.push(await stored.getBytes('object'));
      await stored.delete('object');
    }
    await stored.close();
    return seeds;
  },
  run: async (bytes) => {
    const stored = memoryBlobs();
    await stored.put('object', bytes);
    const blobs = layerBlobs(stored, [layer]);
    try {
      const whole = await blobs.getBytes('object');
      // Nothing but what was put comes out: there is no other content under this key.
      if (!contents.some((content) => Buffer.compare(content, whole) === 0)) {
        throw new Error('a changed object was read as another content');
      }
      const half = whole.length >> 1;
      return await blobs.getBytes('object', { range: { start: half, end: whole.length } });
    } finally {
      await blobs.close();
    }
  },
  share: 0.5,
};

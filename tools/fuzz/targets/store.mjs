import { createHash } from 'node:crypto';

import { memoryBlobs } from '@holdfast/blobs';
import { parseRef, tryParseRef, WorkspaceStore } from '@holdfast/workspacestore';
import { goldenFile, goldenTrees } from '@holdfast/workspacestore/testing';

/** @typedef {import('../target.mjs').Target} Target */

const internal = '../../../packages/workspacestore/dist/internal';

/** @param {Uint8Array} bytes */
const digestOf = (bytes) => createHash('sha256').update(bytes).digest();

/** Writes the closing line of a sealed text anew. @type {NonNullable<Target['mend']>} */
function mendSeal(bytes, random) {
  if (random.below(5) === 0) return bytes;
  const text = bytes.toString('latin1');
  const cut = text.lastIndexOf('sha256 ');
  const body = Buffer.from(cut < 0 ? text : text.slice(0, cut), 'latin1');
  return Buffer.concat([body, Buffer.from(`sha256 ${digestOf(body).toString('hex')}\n`)]);
}

/** @param {string} name */
const vectors = (name) => /** @type {any} */ (goldenFile(name));

/** @type {Target} */
export const treeObject = {
  name: 'tree-object',
  what: 'the rows of a directory',
  seeds: () => goldenTrees().flatMap(({ treeObject: bytes }) => (bytes === undefined ? [] : [bytes])),
  allowed: ['FormatFault'],
  run: async (bytes) => (await import(`${internal}/tree-object.js`)).readTreeRows(bytes),
};

/** @type {Target} */
export const rootObject = {
  name: 'root-object',
  what: 'a root',
  seeds: () => goldenTrees().map(({ rootObject: bytes }) => bytes),
  allowed: ['FormatFault'],
  run: async (bytes) => (await import(`${internal}/root-object.js`)).decodeRoot(bytes),
};

/** @type {Target} */
export const chunkList = {
  name: 'chunk-list',
  what: 'the chunks of a file',
  seeds: () => [Buffer.from(vectors('chunk-list.json').bytes, 'hex')],
  allowed: ['FormatFault'],
  run: async (bytes) => (await import(`${internal}/chunk-list.js`)).decodeChunkList(bytes),
};

/** @type {Target} */
export const archiveIndex = {
  name: 'archive-index',
  what: 'the index of an archive',
  seeds: async () => {
    const { openTail } = await import('../../../packages/workspacestore/dist/internal/archive-tail.js');
    return vectors('archives.json').map((/** @type {{ bytes: string, tail: number }} */ { bytes, tail }) => {
      return openTail(Buffer.from(bytes, 'hex').subarray(tail), tail).index.bytes;
    });
  },
  mend: (bytes, random) => {
    if (random.below(5) === 0 || bytes.length < 32) return bytes;
    const body = bytes.subarray(0, bytes.length - 32);
    return Buffer.concat([body, digestOf(body)]);
  },
  allowed: ['FormatFault'],
  run: async (bytes) => {
    const { ArchiveIndex } = await import('../../../packages/workspacestore/dist/internal/archive-index.js');
    ArchiveIndex.verify(bytes, 5_120);
  },
};

/**
 * Expands a frame. What a decompressor says is what `decodeFrame` reports as its cause, whatever it is: no mistake of ours.
 * @param {Uint8Array} bytes
 * @param {number} codec
 * @param {number} rawLength
 */
async function expand(bytes, codec, rawLength) {
  const { decodeFrame } = await import('../../../packages/workspacestore/dist/internal/frame-codec.js');
  const { FormatFault } = await import('../../../packages/workspacestore/dist/internal/byte-reader.js');
  try {
    const raw = decodeFrame(bytes, codec, rawLength);
    if (raw.length !== rawLength) throw new Error(`a frame of ${rawLength} bytes gave ${raw.length}`);
  } catch (error) {
    throw error instanceof FormatFault ? new FormatFault(error.message) : error;
  }
}

/** @type {Target} */
export const frame = {
  name: 'frame',
  what: 'a frame that was compressed with gzip',
  seeds: async () => {
    const { encodeFrame } = await import('../../../packages/workspacestore/dist/internal/frame-codec.js');
    return [encodeFrame(Buffer.alloc(4_000, 'text '), 'gzip').bytes];
  },
  allowed: ['FormatFault'],
  run: async (bytes) => await expand(bytes, 1, 4_000),
};

async function zstdFrames() {
  const { openTail } = await import('../../../packages/workspacestore/dist/internal/archive-tail.js');
  const { base64, tail } = vectors('archive-zstd.json');
  const bytes = Buffer.from(base64, 'base64');
  const { index } = openTail(bytes.subarray(tail), tail);
  const frames = Array.from({ length: index.frameCount }, (_, at) => index.frame(at));
  return frames
    .filter(({ codec }) => codec === 2)
    .map(({ offset, storedLength, rawLength }) => ({
      rawLength,
      bytes: bytes.subarray(offset, offset + storedLength),
    }));
}

/** @type {Target} */
export const zstdFrame = {
  name: 'zstd-frame',
  what: 'a frame that was compressed with zstd',
  // Its length is before it.
  seeds: async () =>
    (await zstdFrames())
      .filter(({ bytes }) => bytes.length < 8_192)
      .map(({ rawLength, bytes }) => Buffer.concat([Buffer.from(String(rawLength).padStart(8)), bytes])),
  allowed: ['FormatFault'],
  share: 0.2,
  run: async (bytes) => {
    const stated = Number(Buffer.from(bytes.subarray(0, 8)).toString());
    await expand(bytes.subarray(8), 2, stated > 0 && stated < 2 ** 20 ? Math.floor(stated) : 4_096);
  },
};

/** @type {Target} */
export const storeRecord = {
  name: 'store-record',
  what: 'a record of the store: commits, registrations, forwards, decisions',
  seeds: () => {
    const { records, forward } = vectors('records.json');
    return [
      ...records.map((/** @type {{ text: string }} */ { text }) => Buffer.from(text)),
      Buffer.from(forward.text),
    ];
  },
  json: true,
  mend: mendSeal,
  allowed: ['FormatFault'],
  run: async (bytes) => {
    const { decodeForward, decodeRecord } = await import(
      '../../../packages/workspacestore/dist/internal/record.js'
    );
    if (Buffer.from(bytes).includes('forward')) decodeForward(bytes, 'fuzz');
    else decodeRecord(bytes, 'fuzz');
  },
};

/** @type {Map<string, Uint8Array> | undefined} */
let stored;

/** The objects of a small store, made once. */
async function smallStore() {
  if (stored !== undefined) return stored;
  const blobs = memoryBlobs();
  const store = await WorkspaceStore.open(blobs, { threads: false });
  const { tarSeeds } = await import('./tar-seeds.mjs');
  await store.importTar(tarSeeds());
  await store.close();
  stored = new Map();
  for await (const { key } of blobs.list()) stored.set(key, await blobs.getBytes(key));
  return stored;
}

/** @type {Target} */
export const damagedStore = {
  name: 'damaged-store',
  what: 'a store in which one object was replaced by other bytes',
  // The first byte says which object.
  seeds: async () =>
    [...(await smallStore()).values()].map((bytes, index) => Buffer.concat([Buffer.from([index]), bytes])),
  mend: (bytes, random) =>
    bytes.includes('sha256 ')
      ? Buffer.concat([bytes.subarray(0, 1), mendSeal(bytes.subarray(1), random)])
      : bytes,
  share: 0.1,
  run: async (bytes) => {
    const blobs = memoryBlobs();
    const objects = [...(await smallStore())];
    const replaced = (bytes[0] ?? 0) % objects.length;
    for (const [index, [key, content]] of objects.entries())
      await blobs.put(key, index === replaced ? Buffer.from(bytes.subarray(1)) : content);
    const store = await WorkspaceStore.open(blobs, { threads: false });
    try {
      await store.verify('all', { deep: true });
      for (const [key] of objects) {
        const hex = /^snapshots\/([0-9a-f]{64})\//.exec(key)?.[1];
        if (hex === undefined) continue;
        for (const row of await store.list(
          /** @type {import('@holdfast/workspacestore').Ref} */ (`v1:sha256:${hex}`),
        ))
          if (row.kind === 'file')
            for await (const _ of await store.read(/** @type {any} */ (`v1:sha256:${hex}`), row.path))
              continue;
      }
    } finally {
      await store.close();
    }
  },
};

/** @type {Target} */
export const refText = {
  name: 'ref',
  what: 'the text of a ref',
  seeds: () => [
    Buffer.from(`v1:sha256:${'0123456789abcdef'.repeat(4)}`),
    Buffer.from('v2:blake3:00'),
    Buffer.from('v1:'),
  ],
  run: (bytes) => {
    const text = Buffer.from(bytes).toString();
    const parsed = tryParseRef(text);
    if (parsed !== undefined && parsed !== text) throw new Error('a ref that is not its text');
    parseRef(text);
  },
};

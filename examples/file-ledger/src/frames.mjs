import { createHash } from 'node:crypto';

/**
 * @typedef {object} Frames
 * @property {number} count How many records there are.
 * @property {(index: number) => Buffer | undefined} record The bytes of one; `undefined` when a bit of them differs.
 * @property {(index: number) => number} offset Where they begin in the file.
 */

/**
 * The content of one file: a line with the digest of the next one, a line with places, sizes and digests, the records of
 * one append.
 * @param {string} generation
 * @param {number} first
 * @param {readonly Uint8Array[]} records
 */
export function encodeFrames(generation, first, records) {
  const sizes = records.map((record) => record.length);
  const header = Buffer.from(
    `${JSON.stringify({ generation, first, sizes, digests: records.map(digestOf) })}\n`,
  );
  return Buffer.concat([Buffer.from(`${digestOf(header)}\n`), header, ...records]);
}

/**
 * What a file holds; `undefined` when its header is not what was written for this place.
 * @param {Buffer} bytes
 * @param {string} generation
 * @param {number} first
 * @returns {Frames | undefined}
 */
export function decodeFrames(bytes, generation, first) {
  const end = bytes.indexOf(0x0a, 65) + 1;
  const line = bytes.subarray(65, end);
  if (bytes.subarray(0, 65).toString('latin1') !== `${digestOf(line)}\n`) return undefined;
  /** @type {{ generation: string, first: number, sizes: number[], digests: string[] }} */
  const header = JSON.parse(line.toString('latin1'));
  if (header.generation !== generation || header.first !== first) return undefined;
  const offset = (/** @type {number} */ index) =>
    header.sizes.slice(0, index).reduce((sum, size) => sum + size, end);
  return {
    count: header.sizes.length,
    offset,
    record: (index) => {
      const data = bytes.subarray(offset(index), offset(index + 1));
      return digestOf(data) === header.digests[index] ? data : undefined;
    },
  };
}

/** @param {Uint8Array} bytes */
function digestOf(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

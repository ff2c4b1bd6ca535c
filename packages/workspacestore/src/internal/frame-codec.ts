import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from 'node:zlib';

import { UnsupportedFormatError } from '../errors.js';
import { FormatFault } from './byte-reader.js';
import { expandZstd } from './zstd-decoder.js';

/** How frames are compressed when an archive is written. Readers take every one of them. */
export type Compression = 'none' | 'gzip' | 'zstd' | 'brotli';

/** The codec byte of a frame. */
export const frameCodecs: Readonly<Record<Compression, number>> = { none: 0, gzip: 1, zstd: 2, brotli: 3 };

/** Bytes of one sample that decides whether a large frame is worth compressing. */
const sampleBytes = 32_768;

interface Zstd {
  readonly zstdCompressSync?: (this: void, bytes: Uint8Array) => Uint8Array;
}

/** Tells whether this runtime can write a codec. */
export function canCompress(compression: Compression): boolean {
  return compression !== 'zstd' || (zlib as Zstd).zstdCompressSync !== undefined;
}

/** Compresses one frame; one that would not shrink by at least a thirty-second is stored as it is. */
export function encodeFrame(raw: Uint8Array, compression: Compression): { codec: number; bytes: Uint8Array } {
  const stored = { codec: frameCodecs.none, bytes: raw };
  if (compression === 'none' || raw.length < 64) return stored;
  const sample = sampleOf(raw);
  if (sample !== undefined && !pays(sample, compress(sample, compression))) return stored;
  const bytes = compress(raw, compression);
  return pays(raw, bytes) ? { codec: frameCodecs[compression], bytes } : stored;
}

/** From so many bytes on, compressing in the background is worth the way there. */
const backgroundBytes = 32_768;

/** The same, off this thread where that pays. The bytes must not be changed meanwhile. */
export async function encodeFrameLater(
  raw: Uint8Array,
  compression: Compression,
): Promise<{ codec: number; bytes: Uint8Array }> {
  if (compression === 'none' || raw.length < backgroundBytes) return encodeFrame(raw, compression);
  const stored = { codec: frameCodecs.none, bytes: raw };
  const sample = sampleOf(raw);
  if (sample !== undefined && !pays(sample, await compressLater(sample, compression))) return stored;
  const bytes = await compressLater(raw, compression);
  return pays(raw, bytes) ? { codec: frameCodecs[compression], bytes } : stored;
}

/** The part of a large frame that tells whether the rest is worth the trouble. */
function sampleOf(raw: Uint8Array): Uint8Array | undefined {
  if (raw.length < 4 * sampleBytes) return undefined;
  const middle = (raw.length - sampleBytes) >> 1;
  return raw.subarray(middle, middle + sampleBytes);
}

function pays(raw: Uint8Array, compressed: Uint8Array): boolean {
  return compressed.length <= raw.length - (raw.length >> 5);
}

type Codec = Exclude<Compression, 'none'>;

function compress(raw: Uint8Array, compression: Codec): Uint8Array {
  switch (compression) {
    case 'gzip':
      return gzipSync(raw, gzipOptions(raw));
    case 'brotli':
      return brotliCompressSync(raw, brotliOptions(raw));
    case 'zstd':
      return zstdSync(raw);
  }
}

async function compressLater(raw: Uint8Array, compression: Codec): Promise<Uint8Array> {
  switch (compression) {
    case 'gzip':
      return await gzipLater(raw, gzipOptions(raw));
    case 'brotli':
      return await brotliLater(raw, brotliOptions(raw));
    case 'zstd':
      return zstdSync(raw);
  }
}

const gzipLater = promisify<Uint8Array, zlib.ZlibOptions, Uint8Array>(zlib.gzip);
const brotliLater = promisify<Uint8Array, zlib.BrotliOptions, Uint8Array>(zlib.brotliCompress);

function gzipOptions(raw: Uint8Array): zlib.ZlibOptions {
  return { level: 1, chunkSize: chunkSizeFor(raw.length >> 1) };
}

function brotliOptions(raw: Uint8Array): zlib.BrotliOptions {
  return {
    chunkSize: chunkSizeFor(raw.length >> 1),
    params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_SIZE_HINT]: raw.length },
  };
}

function zstdSync(raw: Uint8Array): Uint8Array {
  const { zstdCompressSync } = zlib as Zstd;
  if (zstdCompressSync === undefined) throw new TypeError('zstd needs Node 22.15 or later to write');
  return zstdCompressSync(raw);
}

/**
 * Expands one frame. The declared raw length is enforced while inflating, so that a small frame cannot expand into a
 * large one.
 */
export function decodeFrame(bytes: Uint8Array, codec: number, rawLength: number): Uint8Array {
  if (codec === frameCodecs.none) {
    if (bytes.length !== rawLength)
      throw new FormatFault(`a stored frame of ${bytes.length} bytes, not ${rawLength}`);
    return bytes;
  }
  const raw = inflate(bytes, codec, rawLength);
  if (raw.length !== rawLength) throw new FormatFault(`a frame of ${raw.length} bytes, not ${rawLength}`);
  return raw;
}

function inflate(bytes: Uint8Array, codec: number, rawLength: number): Uint8Array {
  const options = { maxOutputLength: Math.max(rawLength, 1), chunkSize: chunkSizeFor(rawLength) };
  try {
    switch (codec) {
      case frameCodecs.gzip:
        return gunzipSync(bytes, options);
      case frameCodecs.brotli:
        return brotliDecompressSync(bytes, options);
      case frameCodecs.zstd:
        return expandZstd(bytes, rawLength, options.chunkSize);
      default:
        throw new UnsupportedFormatError(`codec ${codec}`, 'frame');
    }
  } catch (error) {
    if (UnsupportedFormatError.is(error) || error instanceof FormatFault) throw error;
    throw new FormatFault('a frame that cannot be expanded', { cause: error });
  }
}

/** One output buffer of the right size, instead of many of 16 KiB. */
function chunkSizeFor(length: number): number {
  return Math.max(1024, Math.min(length + 64, 2 ** 20));
}

import { FormatFault } from './byte-reader.js';

/** What the headers of a zstd frame (RFC 8878) say, without anything being expanded. */
export interface ZstdFrame {
  /** Bytes that the frame expands to; `undefined` when its header does not say. */
  readonly contentSize: number | undefined;
  /** Bytes that a decoder has to keep. */
  readonly windowSize: number;
}

const magic = 0xfd2fb528;
const largestBlock = 128 * 1024;

/**
 * Reads frame and block headers and checks that `bytes` are one whole frame without a dictionary and nothing else. A
 * decoder that believes what it is told can then be given the frame: nothing in it asks for more than is said here.
 * @throws FormatFault for anything else.
 */
export function inspectZstdFrame(bytes: Uint8Array): ZstdFrame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    if (view.getUint32(0, true) !== magic) throw new FormatFault('no zstd frame');
    const descriptor = view.getUint8(4);
    if ((descriptor & 0b1011) !== 0) throw new FormatFault('a zstd frame with reserved bits or a dictionary');
    const isSingleSegment = (descriptor & 0b10_0000) !== 0;
    const sizeFlag = descriptor >> 6;
    let at = 5;
    const window = isSingleSegment ? undefined : windowOf(view.getUint8(at++));
    const sizeBytes = sizeFlag === 0 ? Number(isSingleSegment) : 1 << sizeFlag;
    const contentSize = readSize(view, at, sizeBytes);
    at = skipBlocks(view, at + sizeBytes);
    if ((descriptor & 0b100) !== 0) at += 4;
    if (at !== bytes.length) throw new FormatFault('a zstd frame of another length');
    return { contentSize, windowSize: window ?? contentSize ?? 0 };
  } catch (error) {
    if (error instanceof RangeError) throw new FormatFault('a zstd frame that ends early', { cause: error });
    throw error;
  }
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function readSize(view: DataView, at: number, bytes: number): number | undefined {
  switch (bytes) {
    case 0:
      return undefined;
    case 1:
      return view.getUint8(at);
    case 2:
      return view.getUint16(at, true) + 256;
    case 4:
      return view.getUint32(at, true);
    default:
      return Number(view.getBigUint64(at, true));
  }
}

/** Goes from block to block; returns where the last one ends. */
function skipBlocks(view: DataView, start: number): number {
  for (let at = start; ; ) {
    const header = view.getUint16(at, true) + view.getUint8(at + 2) * 65_536;
    const kind = (header >> 1) & 3;
    const size = header >> 3;
    if (kind === 3 || size > largestBlock) throw new FormatFault('a zstd block of no known kind or size');
    // A run is one byte, however long it is.
    at += 3 + (kind === 1 ? 1 : size);
    if (at > view.byteLength) throw new FormatFault('a zstd frame that ends early');
    if ((header & 1) !== 0) return at;
  }
}

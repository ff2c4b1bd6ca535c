import type { BlobContent, ByteRange } from '../../driver.js';
import { BlobIntegrityError } from '../../errors.js';
import type { ByteQueue } from './byte-queue.js';
import {
  type Header,
  headerBytes,
  openSegment,
  type SegmentSeal,
  sealedSegmentBytes,
  sealedSize,
  segmentBytes,
  segmentCount,
} from './format.js';

/** What is needed to open the segments of one object. */
export interface OpenedHeader {
  readonly header: Header;
  readonly seal: SegmentSeal;
}

/** Compares the size that the store reports with the one in the header. */
export function checkSize(key: string, { header }: OpenedHeader, stored: number): void {
  const expected = sealedSize(header.size);
  if (stored === expected) return;
  const kind = stored < expected ? 'truncated' : 'oversized';
  throw new BlobIntegrityError(key, kind, `${expected} bytes were stored for it, there are ${stored}`);
}

/** Where the segments that hold a range lie in the stored object. */
export function sealedRange(
  range: ByteRange,
  size: number,
): { readonly first: number; readonly range: ByteRange } {
  const first = Math.floor(range.start / segmentBytes);
  const last = Math.floor((range.end - 1) / segmentBytes);
  const start = headerBytes + first * sealedSegmentBytes;
  const end = Math.min(sealedSize(size), headerBytes + (last + 1) * sealedSegmentBytes);
  return { first, range: { start, end } };
}

/** Reads segments from `first` on and opens them one by one; no byte of a segment leaves before its tag fits. */
export class SegmentReader {
  readonly #key: string;
  readonly #opened: OpenedHeader;
  readonly #queue: ByteQueue;
  #index: number;

  constructor(key: string, opened: OpenedHeader, queue: ByteQueue, first: number) {
    this.#key = key;
    this.#opened = opened;
    this.#queue = queue;
    this.#index = first;
  }

  /** The next segment; `undefined` after the last one of the object. */
  async next(): Promise<Buffer | undefined> {
    const { header, seal } = this.#opened;
    const index = this.#index;
    if (index >= segmentCount(header.size)) return undefined;
    const length =
      Math.min(segmentBytes, header.size - index * segmentBytes) + (sealedSegmentBytes - segmentBytes);
    const sealed = await this.#queue.take(length);
    if (sealed.length < length) {
      throw new BlobIntegrityError(this.#key, 'truncated', `segment ${index} ends early`);
    }
    const segment = openSegment(seal, index, sealed);
    if (segment === undefined) {
      throw new BlobIntegrityError(this.#key, 'changed', `segment ${index} was changed or moved`);
    }
    this.#index += 1;
    return segment;
  }
}

/** The content of a read: what `segments` hold of `range`, the first segment being there already. */
export function openedContent(
  size: number,
  range: ByteRange,
  segments: { readonly first: Buffer; readonly index: number; readonly reader: SegmentReader },
  content: BlobContent,
): BlobContent {
  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    let position = segments.index * segmentBytes;
    let segment: Buffer | undefined = segments.first;
    while (segment !== undefined && position < range.end) {
      const from = Math.max(0, range.start - position);
      const to = Math.min(segment.length, range.end - position);
      if (to > from) yield segment.subarray(from, to);
      position += segment.length;
      if (position >= range.end) return;
      segment = await segments.reader.next();
    }
  }
  return {
    size,
    chunks: chunks(),
    close: async () => {
      await content.close();
    },
  };
}

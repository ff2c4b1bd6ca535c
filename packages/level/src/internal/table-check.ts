import { Pacer } from '@holdfast/base';
import type { File } from '@holdfast/durable';

import { crc32c } from './crc32c.js';
import { expandSnappy } from './snappy.js';

const footerBytes = 48;
const trailerBytes = 5;
const magic = 0xdb4775248b80fb57n;
const windowBytes = 4 * 1_048_576;
const maxBlockBytes = 256 * 1_048_576;

interface BlockHandle {
  readonly offset: number;
  readonly size: number;
}

/**
 * Compares every block of a table file with its checksum and tells what does not hold; `undefined` when all do.
 *
 * The engine never does that by itself, and meets damage in a table with an assertion that ends the process. So tables
 * are checked before it opens them. The format: blocks, each followed by its compression and a CRC-32C; at the end a
 * footer with the places of the index (of data blocks) and of the index of the rest.
 */
export async function tableProblem(file: File, pacer: Pacer = new Pacer()): Promise<string | undefined> {
  const { size, kind } = file.stat();
  if (kind !== 'file') return 'not a file';
  if (size < footerBytes) return 'shorter than a footer';
  const footer = readExactly(file, size - footerBytes, footerBytes);
  if (footer === undefined) return 'its footer cannot be read';
  const view = new DataView(footer.buffer, footer.byteOffset, footerBytes);
  if (view.getBigUint64(footerBytes - 8, true) !== magic) return 'its footer has another magic number';
  const reading = new BlockReading(file, size - footerBytes);
  const others = parseHandle(footer, 0);
  const index = others === undefined ? undefined : parseHandle(footer, others.next);
  if (others === undefined || index === undefined) return 'its footer names no index';
  for (const { handle } of [others, index]) {
    const content = reading.content(handle);
    if (typeof content === 'string') return content;
    const handles = blockHandles(content);
    if (handles === undefined) return `the index at ${String(handle.offset)} cannot be read`;
    for (const block of handles) {
      const problem = reading.check(block);
      if (problem !== undefined) return problem;
      if (pacer.due) await pacer.rest();
    }
  }
  return undefined;
}

class BlockReading {
  readonly #file: File;
  readonly #end: number;
  /** A stretch of the file: tables are a few MiB and their blocks a few KiB, so that one read serves hundreds. */
  #window = new Uint8Array(0);
  #windowAt = 0;

  constructor(file: File, end: number) {
    this.#file = file;
    this.#end = end;
  }

  check(handle: BlockHandle): string | undefined {
    const found = this.#read(handle);
    return typeof found === 'string' ? found : undefined;
  }

  /** The expanded content, or what is wrong. */
  content(handle: BlockHandle): Uint8Array | string {
    const block = this.#read(handle);
    if (typeof block === 'string') return block;
    const raw = block.subarray(0, handle.size);
    const compression = block[handle.size];
    if (compression === 0) return Uint8Array.from(raw);
    const expanded = compression === 1 ? expandSnappy(raw, maxBlockBytes) : undefined;
    return expanded ?? `the block at ${String(handle.offset)} cannot be expanded`;
  }

  #read(handle: BlockHandle): Uint8Array | string {
    const { offset, size } = handle;
    const length = size + trailerBytes;
    if (size > maxBlockBytes || offset + length > this.#end) {
      return `the block at ${String(offset)} is not in the file`;
    }
    const block = this.#bytes(offset, length);
    if (block === undefined) return `the block at ${String(offset)} cannot be read`;
    const stored = new DataView(block.buffer, block.byteOffset + size + 1, 4).getUint32(0, true);
    return unmask(stored) === crc32c(block, 0, size + 1)
      ? block
      : `the block at ${String(offset)} differs from its checksum`;
  }

  #bytes(offset: number, length: number): Uint8Array | undefined {
    if (offset < this.#windowAt || offset + length > this.#windowAt + this.#window.length) {
      const window = new Uint8Array(Math.max(length, Math.min(windowBytes, this.#end - offset)));
      if (!fill(this.#file, offset, window)) return undefined;
      this.#window = window;
      this.#windowAt = offset;
    }
    const start = offset - this.#windowAt;
    return this.#window.subarray(start, start + length);
  }
}

/** Stored checksums are rotated and shifted, so that a checksum over checksums stays meaningful. */
function unmask(stored: number): number {
  const rotated = (stored - 0xa282ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}

/** The handles that an index block holds as values. */
function blockHandles(block: Uint8Array): readonly BlockHandle[] | undefined {
  if (block.length < 4) return undefined;
  const view = new DataView(block.buffer, block.byteOffset, block.length);
  const end = block.length - 4 - view.getUint32(block.length - 4, true) * 4;
  if (end < 0) return undefined;
  const handles: BlockHandle[] = [];
  let at = 0;
  while (at < end) {
    const shared = parseVarint(block, at);
    const unshared = shared === undefined ? undefined : parseVarint(block, shared.next);
    const length = unshared === undefined ? undefined : parseVarint(block, unshared.next);
    if (unshared === undefined || length === undefined) return undefined;
    const valueAt = length.next + unshared.value;
    const parsed = parseHandle(block, valueAt);
    if (parsed === undefined || parsed.next > valueAt + length.value) return undefined;
    handles.push(parsed.handle);
    at = valueAt + length.value;
  }
  return at === end ? handles : undefined;
}

function parseHandle(
  bytes: Uint8Array,
  at: number,
): { readonly handle: BlockHandle; readonly next: number } | undefined {
  const offset = parseVarint(bytes, at);
  const size = offset === undefined ? undefined : parseVarint(bytes, offset.next);
  if (offset === undefined || size === undefined) return undefined;
  return { handle: { offset: offset.value, size: size.value }, next: size.next };
}

function parseVarint(
  bytes: Uint8Array,
  at: number,
): { readonly value: number; readonly next: number } | undefined {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = bytes[at + index];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, next: at + index + 1 };
  }
  return undefined;
}

function readExactly(file: File, position: number, length: number): Uint8Array | undefined {
  const bytes = new Uint8Array(length);
  return fill(file, position, bytes) ? bytes : undefined;
}

function fill(file: File, position: number, bytes: Uint8Array): boolean {
  let done = 0;
  while (done < bytes.length) {
    const count = file.read(bytes.subarray(done), position + done);
    if (count === 0) return false;
    done += count;
  }
  return true;
}

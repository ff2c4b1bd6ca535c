import { ArchiveIndex, type FrameLocation } from './archive-index.js';
import { FormatFault } from './byte-reader.js';

/** The end of an archive as read in one piece: tree frames and index. */
export interface ArchiveTail {
  readonly index: ArchiveIndex;
  /** Bytes of a frame when the tail holds it; data frames are not in it. */
  frameBytes(frame: FrameLocation): Uint8Array | undefined;
}

const blockBytes = 512;

/** Finds and checks the index in `bytes`, which start at the archive's offset `start` and reach to its end. */
export function openTail(bytes: Uint8Array, start: number): ArchiveTail {
  const archiveSize = start + bytes.length;
  let offset = 0;
  let index: ArchiveIndex | undefined;
  for (;;) {
    const member = readMemberHeader(bytes, offset);
    if (member === undefined) break;
    const from = offset + blockBytes;
    if (from + member.size > bytes.length) throw new FormatFault('an archive that ends early');
    if (member.name === 'index')
      index = ArchiveIndex.verify(bytes.subarray(from, from + member.size), archiveSize);
    offset = from + Math.ceil(member.size / blockBytes) * blockBytes;
  }
  if (index === undefined) throw new FormatFault('an archive without index');
  return {
    index,
    frameBytes: (frame) =>
      frame.offset < start
        ? undefined
        : bytes.subarray(frame.offset - start, frame.offset - start + frame.storedLength),
  };
}

/** Reads the header block of a member of one of our archives; `undefined` at the end marker. */
export function readMemberHeader(
  bytes: Uint8Array,
  offset: number,
): { readonly name: string; readonly size: number } | undefined {
  if (offset + blockBytes > bytes.length) throw new FormatFault('an archive that ends early');
  const block = Buffer.from(bytes.buffer, bytes.byteOffset + offset, blockBytes);
  if (block.every((byte) => byte === 0)) return undefined;
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  const stated = /^([0-7]{6})[\0 ]{2}$/.exec(block.toString('latin1', 148, 156));
  if (stated === null || Number.parseInt(stated[1] as string, 8) !== sum) {
    throw new FormatFault('a member with a wrong checksum');
  }
  const size = /^([0-7]{11})[\0 ]$/.exec(block.toString('latin1', 124, 136));
  const name = /^(meta|data|trees|index)\0+$/.exec(block.toString('latin1', 0, 100));
  if (size === null || name === null || block[156] !== 0x30) throw new FormatFault('an unknown member');
  return { name: name[1] as string, size: Number.parseInt(size[1] as string, 8) };
}

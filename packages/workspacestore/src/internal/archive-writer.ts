import { createSha256, Pacer, toHex } from '@holdfast/base';
import { encodeIndex, type FrameLocation, type IndexRow } from './archive-index.js';
import { memberHeader, memberPadding, tarEnd } from './tar/member-header.js';

/** Makes the name of an archive unique to one attempt of one writer. */
export interface ArchiveMeta {
  readonly writer: string;
  readonly slot: number;
  readonly part: number;
}

/** One compressed frame and the objects in it. */
export interface BuiltFrame {
  readonly codec: number;
  readonly rawLength: number;
  readonly bytes: Uint8Array;
  readonly objects: readonly FrameObject[];
}

export interface FrameObject {
  readonly key: Uint8Array;
  readonly kind: IndexRow['kind'];
  readonly offset: number;
  readonly length: number;
}

/** A whole archive in memory, ready to be put. */
export interface BuiltArchive {
  /** SHA-256 of the bytes, 64 hex digits. */
  readonly name: string;
  readonly size: number;
  /** Offset of the part that a reader fetches first: tree frames and index. */
  readonly tail: number;
  readonly pieces: readonly Uint8Array[];
}

const blockBytes = 512;

/** Lays out an archive: `meta`, `data`, `trees`, `index`; members without content are left out. */
export async function buildArchive(
  meta: ArchiveMeta,
  dataFrames: readonly BuiltFrame[],
  treeFrames: readonly BuiltFrame[],
): Promise<BuiltArchive> {
  const metaBytes = encodeMeta(meta);
  const members: { name: string; parts: readonly Uint8Array[] }[] = [{ name: 'meta', parts: [metaBytes] }];
  const frames: FrameLocation[] = [];
  const rows: IndexRow[] = [];
  let offset = memberBytes(metaBytes.length);
  let tail = offset;
  for (const [name, list] of [
    ['data', dataFrames],
    ['trees', treeFrames],
  ] as const) {
    tail = offset;
    if (list.length === 0) continue;
    let at = offset + blockBytes;
    for (const frame of list) {
      for (const { key, kind, offset: start, length } of frame.objects)
        rows.push({ key, kind, frame: frames.length, offset: start, length });
      frames.push({
        offset: at,
        storedLength: frame.bytes.length,
        rawLength: frame.rawLength,
        codec: frame.codec,
      });
      at += frame.bytes.length;
    }
    members.push({ name, parts: list.map((frame) => frame.bytes) });
    offset += memberBytes(at - offset - blockBytes);
  }
  if (treeFrames.length === 0) tail = offset;
  members.push({ name: 'index', parts: [encodeIndex(frames, rows)] });
  return { tail, ...(await packMembers(members)) };
}

/** The `meta` member: one line of JSON with its fields in this order. */
export function encodeMeta(meta: ArchiveMeta): Uint8Array {
  const { writer, slot, part } = meta;
  return Buffer.from(`${JSON.stringify({ format: 'holdfast-archive/1', writer, slot, part })}\n`);
}

function memberBytes(size: number): number {
  return blockBytes + Math.ceil(size / blockBytes) * blockBytes;
}

async function packMembers(
  members: readonly { name: string; parts: readonly Uint8Array[] }[],
): Promise<{ name: string; size: number; pieces: Uint8Array[] }> {
  const pieces = members.flatMap(({ name, parts }) => {
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    return [memberHeader(name, size), ...parts, memberPadding(size)];
  });
  pieces.push(tarEnd);
  const hash = createSha256();
  let size = 0;
  const pacer = new Pacer();
  for (const piece of pieces) {
    hash.update(piece);
    size += piece.length;
    if (pacer.due) await pacer.rest();
  }
  return { name: toHex(hash.digest()), size, pieces: pieces.filter(({ length }) => length > 0) };
}

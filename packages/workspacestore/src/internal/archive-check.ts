import { createSha256, equalBytes, Pacer, throwIfAborted, toHex } from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';

import type { ArchiveIndex, IndexRow } from './archive-index.js';
import { openTail, readMemberHeader } from './archive-tail.js';
import { FormatFault } from './byte-reader.js';
import { decodeChunkList } from './chunk-list.js';
import { decodeFrame } from './frame-codec.js';
import { keyOf } from './object-key.js';
import { archiveKey } from './store-keys.js';

/**
 * Checks one archive from its first byte to its last: name, layout, meta, frames, and the key of every object in it.
 * Returns its size. An archive is at most 64 MiB, and is held in memory meanwhile.
 */
export async function checkArchive(
  blobs: Blobs,
  name: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  const bytes = await blobs.getBytes(archiveKey(name), { signal });
  const hash = createSha256();
  hash.update(bytes);
  const digest = toHex(hash.digest());
  if (digest !== name) throw new FormatFault(`bytes with the digest ${digest}`);
  checkMeta(bytes);
  const { index } = openTail(bytes, 0);
  // Frame by frame: all of them together may be a thousand times as large as the archive.
  const pacer = new Pacer();
  for (const [frame, rows] of rowsByFrame(index).entries()) {
    if (rows.length === 0) continue;
    const place = index.frame(frame);
    const stored = bytes.subarray(place.offset, place.offset + place.storedLength);
    const raw = decodeFrame(stored, place.codec, place.rawLength);
    for (const row of rows) {
      checkObject(index.row(row), raw);
      if (pacer.due) await pacer.rest(signal);
    }
    throwIfAborted(signal);
  }
  return bytes.length;
}

function rowsByFrame(index: ArchiveIndex): number[][] {
  const frames: number[][] = Array.from({ length: index.frameCount }, () => []);
  for (let row = 0; row < index.rowCount; row += 1) frames[index.row(row).frame]?.push(row);
  return frames;
}

function checkObject({ key, kind, offset, length }: IndexRow, raw: Uint8Array): void {
  const object = raw.subarray(offset, offset + length);
  if (kind === 'chunklist') decodeChunkList(object);
  else if (!equalBytes(keyOf(kind, object), key)) throw new FormatFault(`a ${kind} object with other bytes`);
}

function checkMeta(bytes: Uint8Array): void {
  const member = readMemberHeader(bytes, 0);
  if (member?.name !== 'meta') throw new FormatFault('no meta');
  const text = Buffer.from(bytes.subarray(512, 512 + member.size)).toString();
  if (!/^\{"format":"holdfast-archive\/1","writer":"[0-9a-f]{32}","slot":\d+,"part":\d+\}\n$/.test(text)) {
    throw new FormatFault('a meta of an unknown form');
  }
}

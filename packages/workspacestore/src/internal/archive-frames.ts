import { sha256Hex } from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';

import { IntegrityError } from '../errors.js';
import type { BuiltFrame, FrameObject } from './archive-writer.js';
import type { OpenArchive } from './object-table.js';
import { archiveKey } from './store-keys.js';

/**
 * The frames of an archive as they are stored, split by the member they belong to. What is copied unread must be proved
 * first: a copy gets a good name of its own, and the original is given up for it.
 * @throws IntegrityError when the bytes are not those that the archive is named after.
 */
export async function readFrames(
  blobs: Blobs,
  archive: OpenArchive,
  signal: AbortSignal | undefined,
): Promise<{ readonly data: BuiltFrame[]; readonly trees: BuiltFrame[] }> {
  const { index } = archive.tail;
  const objects: FrameObject[][] = Array.from({ length: index.frameCount }, () => []);
  for (let row = 0; row < index.rowCount; row += 1) {
    const { key, kind, frame, offset, length } = index.row(row);
    objects[frame]?.push({ key: key.slice(), kind, offset, length });
  }
  const data: BuiltFrame[] = [];
  const trees: BuiltFrame[] = [];
  const bytes = await blobs.getBytes(archiveKey(archive.ref.name), { signal });
  const digest = sha256Hex(bytes);
  if (digest !== archive.ref.name) {
    throw new IntegrityError({
      path: archiveKey(archive.ref.name),
      expected: archive.ref.name,
      got: digest,
    });
  }
  for (const [number, list] of objects.entries()) {
    const { offset, storedLength, rawLength, codec } = index.frame(number);
    const frame = { codec, rawLength, bytes: bytes.subarray(offset, offset + storedLength), objects: list };
    (offset < archive.ref.tail ? data : trees).push(frame);
  }
  return { data, trees };
}

import type { Blobs } from '@holdfast/blobs';

import type { BuiltFrame, FrameObject } from './archive-writer.js';
import type { OpenArchive } from './object-table.js';
import { archiveKey } from './store-keys.js';

/** The frames of an archive as they are stored, split by the member they belong to. */
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
  for (const [number, list] of objects.entries()) {
    const { offset, storedLength, rawLength, codec } = index.frame(number);
    const frame = { codec, rawLength, bytes: bytes.subarray(offset, offset + storedLength), objects: list };
    (offset < archive.ref.tail ? data : trees).push(frame);
  }
  return { data, trees };
}

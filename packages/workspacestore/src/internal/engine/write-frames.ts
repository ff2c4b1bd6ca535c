import { type FileSystem, openSharedDirectory } from '@holdfast/durable';

import { StagedTree } from '../staged-tree.js';
import type { WriteJob, WrittenFiles } from './engine-messages.js';
import { expandFrames } from './expand-frames.js';
import { unpackObjects } from './frame-objects.js';

/**
 * Expands frames and writes the proved objects of them as files. What fails is a result: whoever asked tries it by itself
 * and meets the failure.
 */
export function writeFrames(
  fileSystem: FileSystem,
  { root: shared, bytes, frames }: Omit<WriteJob, 'type' | 'id'>,
): WrittenFiles {
  const written = frames.map(({ modes }) => new Uint8Array(modes.length));
  try {
    using root = openSharedDirectory(fileSystem, shared);
    const staged = new StagedTree(root, 'none');
    try {
      // One after the other: what they hold when they are expanded is many times what they are stored as.
      for (const [position, frame] of frames.entries()) {
        const [{ raw, proved } = { raw: undefined, proved: undefined }] = expandFrames(bytes, [frame]);
        const paths = splitPaths(frame.paths);
        for (const [at, { offset, length }] of unpackObjects(frame.objects).entries()) {
          const path = paths[at];
          if (raw === undefined || proved?.[at] !== 1 || path === undefined) continue;
          try {
            staged.writeFile(
              { path, mode: frame.modes[at] as number },
              raw.subarray(offset, offset + length),
            );
            (written[position] as Uint8Array)[at] = 1;
          } catch {
            // The next one may do: a full disk has room for small files.
          }
        }
      }
      return { written, modesKept: staged.modesKept };
    } finally {
      staged.close();
    }
  } catch {
    return { written, modesKept: true };
  }
}

/** Joins paths, none of which can hold a NUL. */
export function joinPaths(paths: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(paths.reduce((sum, path) => sum + path.length + 1, 0));
  let at = 0;
  for (const path of paths) {
    joined.set(path, at);
    at += path.length + 1;
  }
  return joined;
}

function splitPaths(joined: Uint8Array): Uint8Array[] {
  const paths: Uint8Array[] = [];
  for (let start = 0; start < joined.length; ) {
    const end = joined.indexOf(0, start);
    paths.push(joined.subarray(start, end));
    start = end + 1;
  }
  return paths;
}

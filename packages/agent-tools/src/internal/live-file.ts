import { sha256Hex } from '@holdfast/base';
import { type Dir, type File, FileSystemError, FileTooLargeError } from '@holdfast/durable';

import { UnexpectedNodeError } from '../errors.js';
import type { Place } from './place.js';

/** What a file holds right now. */
export interface LiveFile {
  readonly bytes: Uint8Array;
  readonly sha256: string;
  readonly mode: number;
}

/**
 * Opens the regular file of a place; `undefined` when there is nothing. A FIFO, socket or device is never opened, and
 * one that takes the file's place at the last moment never blocks.
 * @throws UnexpectedNodeError
 */
export function openRegularFile(place: Place): File | undefined {
  if (place.directory !== undefined) throw new UnexpectedNodeError(place.path, 'file', 'directory');
  if (place.stat === undefined || place.name === undefined) return undefined;
  return openFileIn(place.parent, place.name, place.path);
}

/** Reads it whole; `too-large` when it has more than `maxBytes`. */
export function readLiveFile(place: Place, maxBytes: number): LiveFile | 'too-large' | undefined {
  if (place.name === undefined || place.missing.length > 0) return undefined;
  using file = openFileIn(place.parent, place.name, place.path);
  if (file === undefined) return undefined;
  try {
    const bytes = file.readAll({ maxBytes });
    return { bytes, sha256: sha256Hex(bytes), mode: file.stat().mode };
  } catch (error) {
    if (FileTooLargeError.is(error)) return 'too-large';
    throw error;
  }
}

function openFileIn(dir: Dir, name: Uint8Array, path: string): File | undefined {
  const stat = dir.lstat(name);
  if (stat === undefined) return undefined;
  if (stat.kind !== 'file') throw new UnexpectedNodeError(path, 'file', stat.kind);
  let file: File;
  try {
    file = dir.openFile(name);
  } catch (error) {
    if (FileSystemError.is(error) && error.errno === 'ENOENT') return undefined;
    throw error;
  }
  const { kind } = file.stat();
  if (kind === 'file') return file;
  file.close();
  throw new UnexpectedNodeError(path, 'file', kind);
}

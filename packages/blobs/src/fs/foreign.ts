import { FileSystemError } from '@holdfast/durable';

/** Codes of a path component that is a symlink, a file or something else that this layout never makes. */
const foreign: ReadonlySet<string> = new Set(['ENOTDIR', 'ELOOP', 'ENXIO']);

/** Tells whether a name was found to be something that was not put there by this store. */
export function isForeign(error: unknown): boolean {
  return FileSystemError.is(error) && foreign.has(error.errno);
}

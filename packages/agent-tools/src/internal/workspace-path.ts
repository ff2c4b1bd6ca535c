import { decodePathText } from '@holdfast/base';

import { WorkspacePathError } from '../errors.js';

/** Bytes of a path, as Linux has it. */
const maxPathBytes = 4096;
const maxNameBytes = 255;
/** Every directory on the way is held open. */
export const maxDepth = 256;

/**
 * Splits a path in path text into names; none for the root itself. Looks at no disk.
 * @throws WorkspacePathError
 */
export function splitWorkspacePath(path: string): Uint8Array[] {
  if (path === '') throw new WorkspacePathError(path, 'empty');
  if (path.length > maxPathBytes * 4) throw new WorkspacePathError(path, 'too-long');
  let bytes: Uint8Array;
  try {
    bytes = decodePathText(path);
  } catch (error) {
    throw new WorkspacePathError(path, 'encoding', { cause: error });
  }
  if (bytes.length > maxPathBytes) throw new WorkspacePathError(path, 'too-long');
  if (bytes.includes(0)) throw new WorkspacePathError(path, 'nul');
  if (bytes[0] === 0x2f) throw new WorkspacePathError(path, 'absolute');
  const names = splitNames(bytes);
  if (names.some(isParent)) throw new WorkspacePathError(path, 'parent');
  if (names.some((name) => name.length > maxNameBytes)) throw new WorkspacePathError(path, 'too-long');
  if (names.length > maxDepth) throw new WorkspacePathError(path, 'too-deep');
  return names;
}

/** The components of a path, without empty ones and `.`. */
export function splitNames(path: Uint8Array): Uint8Array[] {
  const names: Uint8Array[] = [];
  for (let start = 0; start <= path.length; ) {
    const slash = path.indexOf(0x2f, start);
    const end = slash === -1 ? path.length : slash;
    const name = path.subarray(start, end);
    if (name.length > 0 && !(name.length === 1 && name[0] === 0x2e)) names.push(name);
    start = end + 1;
  }
  return names;
}

export function isParent(name: Uint8Array): boolean {
  return name.length === 2 && name[0] === 0x2e && name[1] === 0x2e;
}

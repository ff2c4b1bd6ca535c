import { EntryNameError } from './errors.js';

/** One path component: raw bytes, or text that is encoded as UTF-8. */
export type EntryName = Uint8Array | string;

/** Returns the bytes of an entry name. */
export function entryNameBytes(name: EntryName): Uint8Array {
  return typeof name === 'string' ? Buffer.from(name, 'utf8') : name;
}

/**
 * Checks that `name` is one path component that a directory can hold.
 * @throws EntryNameError naming the broken rule.
 */
export function checkEntryName(name: Uint8Array): void {
  const length = name.length;
  if (length === 0) throw new EntryNameError(name, 'empty');
  if (name[0] === 0x2e && (length === 1 || (length === 2 && name[1] === 0x2e)))
    throw new EntryNameError(name, 'dot');
  for (let index = 0; index < length; index += 1) {
    const byte = name[index];
    if (byte === 0x2f) throw new EntryNameError(name, 'slash');
    if (byte === 0) throw new EntryNameError(name, 'nul');
  }
}

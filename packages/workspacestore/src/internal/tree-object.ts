import { compareBytes } from '@holdfast/base';

import type { EntryKind } from '../tree.js';
import { ByteReader, FormatFault } from './byte-reader.js';
import type { ByteWriter } from './byte-writer.js';
import { keyLength } from './object-key.js';

/** One row of a tree object: an entry of one directory, by name. */
export interface TreeRow {
  readonly name: Uint8Array;
  readonly kind: EntryKind;
  readonly mode: number;
  /** Files only; 0 otherwise. */
  readonly size: number;
  /** Content key of a file, tree key of a directory, target bytes of a symlink. */
  readonly value: Uint8Array;
}

const kindCodes: Readonly<Record<EntryKind, number>> = { directory: 1, file: 2, symlink: 3 };

/** Longest symlink target, in bytes; the longest that Linux can create. */
export const maxTargetBytes = 4095;

/** Adds one row. Callers add rows in ascending byte order of their names. */
export function writeTreeRow(writer: ByteWriter, row: TreeRow): void {
  writer.u8(kindCodes[row.kind]);
  writer.u16(row.mode);
  writer.u16(row.name.length);
  writer.bytes(row.name);
  if (row.kind === 'file') writer.u64(row.size);
  if (row.kind === 'symlink') writer.u16(row.value.length);
  writer.bytes(row.value);
}

/**
 * Reads a tree object. Only canonical bytes are accepted: rows in strictly ascending order, legal names, permission
 * bits only, non-empty targets without NUL, nothing behind the last row. The rows view `bytes`.
 */
export function readTreeRows(bytes: Uint8Array): TreeRow[] {
  const reader = new ByteReader(bytes);
  const rows: TreeRow[] = [];
  let previous: Uint8Array | undefined;
  while (!reader.atEnd) {
    const row = readRow(reader);
    if (previous !== undefined && compareBytes(previous, row.name) >= 0) {
      throw new FormatFault('names out of order');
    }
    previous = row.name;
    rows.push(row);
  }
  return rows;
}

function readRow(reader: ByteReader): TreeRow {
  const code = reader.u8();
  const mode = reader.u16();
  const name = reader.bytes(reader.u16());
  const broken = brokenEntryName(name);
  if (broken !== undefined) throw new FormatFault(`a name that is ${broken}`);
  if (mode > 0o777) throw new FormatFault(`mode bits 0o${mode.toString(8)}`);
  switch (code) {
    case 1:
      return { name, kind: 'directory', mode, size: 0, value: reader.bytes(keyLength) };
    case 2: {
      const size = reader.u64();
      return { name, kind: 'file', mode, size, value: reader.bytes(keyLength) };
    }
    case 3: {
      if (mode !== 0) throw new FormatFault('a symlink with mode bits');
      const value = reader.bytes(reader.u16());
      if (!isLinkTarget(value)) throw new FormatFault('an illegal symlink target');
      return { name, kind: 'symlink', mode, size: 0, value };
    }
    default:
      throw new FormatFault(`entry kind ${code}`);
  }
}

/** Tells what is wrong with a name as one path component; `undefined` when nothing is. */
export function brokenEntryName(name: Uint8Array): 'empty' | 'dots' | 'slash' | 'nul' | undefined {
  if (name.length === 0) return 'empty';
  if (name[0] === 0x2e && (name.length === 1 || (name.length === 2 && name[1] === 0x2e))) return 'dots';
  for (const byte of name) {
    if (byte === 0x2f) return 'slash';
    if (byte === 0) return 'nul';
  }
  return undefined;
}

/** Tells whether bytes can be the target of a symlink: 1 to 4,095 of them, no NUL. */
export function isLinkTarget(target: Uint8Array): boolean {
  return target.length > 0 && target.length <= maxTargetBytes && !target.includes(0);
}

import { encodePathText } from '@holdfast/base';

import { ArchiveEntryError, type ArchiveEntryReason } from '../../errors.js';

/** One header block, checked field by field. */
export interface TarHeader {
  /** Name field, joined with the prefix where the format has one. */
  readonly name: Uint8Array;
  readonly link: Uint8Array;
  readonly mode: number;
  readonly size: number;
  readonly type: TarType;
}

export type TarType =
  | 'file'
  | 'hard-link'
  | 'symlink'
  | 'directory'
  | 'pax'
  | 'pax-global'
  | 'gnu-name'
  | 'gnu-link'
  | SpecialType;

/** What no snapshot can hold. */
export type SpecialType = 'character-device' | 'block-device' | 'fifo';

const types: Readonly<Record<string, TarType>> = {
  '\0': 'file',
  '0': 'file',
  '1': 'hard-link',
  '2': 'symlink',
  '3': 'character-device',
  '4': 'block-device',
  '5': 'directory',
  '6': 'fifo',
  x: 'pax',
  g: 'pax-global',
  L: 'gnu-name',
  K: 'gnu-link',
};

/**
 * Reads a header block. Whatever readers of tar files are known to see differently is refused: signed checksums, digits
 * that are none, negative or huge sizes, bytes behind the NUL of a name, a prefix where the format has none.
 */
export function readTarHeader(block: Uint8Array): TarHeader {
  const shown = encodePathText(untilNul(block.subarray(0, 100)));
  const refuse = (reason: ArchiveEntryReason, detail: string): never => {
    throw new ArchiveEntryError(shown, reason, detail);
  };
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (octal(block.subarray(148, 156)) !== sum) refuse('malformed', 'its header has a wrong checksum');
  const type = types[String.fromCharCode(block[156] as number)];
  if (type === undefined)
    return refuse('type-unsupported', `type ${JSON.stringify(String.fromCharCode(block[156] as number))}`);
  const prefix = readPrefix(block, refuse);
  const name = terminated(block.subarray(0, 100)) ?? refuse('malformed', 'bytes behind the end of its name');
  const link =
    terminated(block.subarray(157, 257)) ?? refuse('malformed', 'bytes behind the end of its link name');
  const mode = octalOrEmpty(block.subarray(100, 108));
  if (mode === undefined || mode > 0o7777) return refuse('malformed', 'its mode is not one');
  for (const [field, from, to] of [
    ['uid', 108, 116],
    ['gid', 116, 124],
  ] as const) {
    if (number(block.subarray(from, to)) === undefined) refuse('malformed', `its ${field} is not a number`);
  }
  const time = block.subarray(136, 148);
  if ((time[0] as number) >= 0x80 && number(time) === undefined)
    refuse('metadata-range', 'its time is out of range');
  if (number(time) === undefined) refuse('malformed', 'its time is not a number');
  const sizeField = block.subarray(124, 136);
  const size = (sizeField[0] as number) >= 0x80 ? number(sizeField) : octal(sizeField);
  if (size === undefined) return refuse('malformed', 'its size is not a number that a file can have');
  return {
    name: prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]),
    link,
    mode,
    size,
    type,
  };
}

function readPrefix(
  block: Uint8Array,
  refuse: (reason: ArchiveEntryReason, detail: string) => never,
): Uint8Array {
  const magic = Buffer.from(block.subarray(257, 265)).toString('latin1');
  const field = block.subarray(345, 500);
  if (magic === 'ustar\u000000')
    return terminated(field) ?? refuse('malformed', 'bytes behind the end of its prefix');
  // The old GNU format has other fields there, and the oldest has nothing: some readers take it for a prefix all the same.
  if (magic === 'ustar  \0' || magic === '\0'.repeat(8)) {
    return field.every((byte) => byte === 0)
      ? new Uint8Array(0)
      : refuse('malformed', 'a prefix that its format has not');
  }
  return refuse('malformed', 'no header of a tar file');
}

function untilNul(field: Uint8Array): Uint8Array {
  const end = field.indexOf(0);
  return end === -1 ? field : field.subarray(0, end);
}

/** A field up to its NUL; `undefined` when anything but NUL follows. */
function terminated(field: Uint8Array): Uint8Array | undefined {
  const text = untilNul(field);
  return field.subarray(text.length).every((byte) => byte === 0) ? text : undefined;
}

/** Octal digits, with blanks before and blanks or NULs behind. */
function octal(field: Uint8Array): number | undefined {
  const match = /^ *([0-7]+)[ \0]*$/.exec(Buffer.from(field).toString('latin1'));
  return match === null ? undefined : Number.parseInt(match[1] as string, 8);
}

function octalOrEmpty(field: Uint8Array): number | undefined {
  return field.every((byte) => byte === 0) ? 0 : octal(field);
}

/** Octal, empty, or binary: a first byte of 0x80 and a big-endian number. */
function number(field: Uint8Array): number | undefined {
  if (field[0] !== 0x80) return octalOrEmpty(field);
  let value = 0;
  for (const byte of field.subarray(1)) {
    value = value * 256 + byte;
    if (value > Number.MAX_SAFE_INTEGER) return undefined;
  }
  return value;
}

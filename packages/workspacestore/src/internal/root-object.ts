import { compareBytes } from '@holdfast/base';

import type { OmitReason, OmittedEntry } from '../tree.js';
import { ByteReader, FormatFault } from './byte-reader.js';
import { ByteWriter } from './byte-writer.js';
import { keyLength } from './object-key.js';
import { brokenEntryName } from './tree-object.js';

/** What a ref names: a tree and what has to be known to restore it without harm. */
export interface RootObject {
  readonly treeKey: Uint8Array;
  readonly mode: number;
  /** In ascending byte order of paths. */
  readonly omitted: readonly OmittedEntry[];
  /** Ignore rules, in the order given. */
  readonly rules: readonly string[];
}

const reasons: readonly (OmitReason | undefined)[] = [
  undefined,
  'special',
  'unreadable',
  'limit',
  'mount',
  'reserved',
];

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function encodeRoot(root: RootObject): Uint8Array {
  const writer = new ByteWriter();
  writer.bytes(root.treeKey);
  writer.u16(root.mode);
  writer.u32(root.omitted.length);
  for (const { path, reason } of root.omitted) {
    writer.u8(reasons.indexOf(reason));
    writer.u32(path.length);
    writer.bytes(path);
  }
  writer.u32(root.rules.length);
  for (const rule of root.rules) {
    const text = encoder.encode(rule);
    writer.u32(text.length);
    writer.bytes(text);
  }
  return writer.take();
}

/** Reads a root object; only canonical bytes are accepted. What it returns owns its bytes. */
export function decodeRoot(bytes: Uint8Array): RootObject {
  const reader = new ByteReader(bytes);
  const treeKey = reader.bytes(keyLength).slice();
  const mode = reader.u16();
  if (mode > 0o777) throw new FormatFault(`mode bits 0o${mode.toString(8)}`);
  const omitted: OmittedEntry[] = [];
  for (let left = reader.u32(); left > 0; left -= 1) {
    const reason = reasons[reader.u8()];
    if (reason === undefined) throw new FormatFault('an unknown reason for an omission');
    const path = reader.bytes(reader.u32()).slice();
    checkPath(path);
    const previous = omitted.at(-1);
    if (previous !== undefined && compareBytes(previous.path, path) >= 0) {
      throw new FormatFault('omitted paths out of order');
    }
    omitted.push({ path, reason });
  }
  const rules: string[] = [];
  for (let left = reader.u32(); left > 0; left -= 1) rules.push(readText(reader));
  reader.end();
  return { treeKey, mode, omitted, rules };
}

function readText(reader: ByteReader): string {
  try {
    return decoder.decode(reader.bytes(reader.u32()));
  } catch (error) {
    if (error instanceof FormatFault) throw error;
    throw new FormatFault('a rule that is not UTF-8', { cause: error });
  }
}

function checkPath(path: Uint8Array): void {
  let start = 0;
  for (let end = 0; end <= path.length; end += 1) {
    if (end < path.length && path[end] !== 0x2f) continue;
    if (brokenEntryName(path.subarray(start, end)) !== undefined)
      throw new FormatFault('an illegal omitted path');
    start = end + 1;
  }
}

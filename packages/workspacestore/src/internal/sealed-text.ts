import { sha256Hex, textOf } from '@holdfast/base';

import { UnsupportedFormatError } from '../errors.js';
import { FormatFault } from './byte-reader.js';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Longest small text of the store; anything longer is damage, not data. */
export const maxSealedBytes: number = 64 * 2 ** 20;

/** Appends the closing line `sha256 <64 hex digits>` over everything before it. Lines end in a line feed. */
export function sealText(lines: readonly string[]): Uint8Array {
  const body = lines.map((line) => `${line}\n`).join('');
  return Buffer.from(`${body}sha256 ${sha256Hex(Buffer.from(body))}\n`);
}

/** Checks the closing line and returns the lines before it. */
export function openSealedText(bytes: Uint8Array): string[] {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (error) {
    throw new FormatFault('bytes that are not UTF-8', { cause: error });
  }
  const match = /^([\s\S]*\n)sha256 ([0-9a-f]{64})\n$/.exec(text);
  if (match === null) throw new FormatFault('no closing digest');
  const body = match[1] as string;
  if (sha256Hex(Buffer.from(body)) !== match[2]) throw new FormatFault('a wrong closing digest');
  return body.slice(0, -1).split('\n');
}

/** Reads a sealed text of one JSON line and checks its `format` field. */
export function openSealedJson(bytes: Uint8Array, format: string, where: string): Record<string, unknown> {
  const lines = openSealedText(bytes);
  if (lines.length !== 1) throw new FormatFault(`${lines.length} lines instead of one`);
  let value: unknown;
  try {
    value = JSON.parse(lines[0] as string);
  } catch (error) {
    throw new FormatFault('no JSON', { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FormatFault('no JSON object');
  const record = value as Record<string, unknown>;
  if (record['format'] !== format) throw new UnsupportedFormatError(textOf(record['format']), where);
  return record;
}

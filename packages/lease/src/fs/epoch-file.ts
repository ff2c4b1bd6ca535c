import { type JsonValue, sha256Hex } from '@holdfast/base';

import type { LeaseOwner } from '../driver.js';
import { type ProcessIdentity, parseProcessIdentity } from './process-identity.js';

/** What the holder of an epoch writes about itself, once. */
export interface EpochRecord {
  readonly name: string;
  readonly epoch: number;
  /** Tells two holders apart that are equal in everything else. */
  readonly nonce: string;
  readonly owner: LeaseOwner;
  readonly process: ProcessIdentity;
  /** Milliseconds; `null`: the holder does not renew, so its lease never runs out. */
  readonly ttl: number | null;
  /** For people. */
  readonly acquired: string;
}

/**
 * `claiming`: somebody is about to overtake a holder that may be alive, and has not looked at it again yet. `unreadable`
 * stands for anything that is none of the words.
 */
export type EpochWord = 'held' | 'claiming' | 'released';

/** An epoch file as it was read. */
export interface EpochState {
  readonly word: EpochWord | 'unreadable';
  /** Absent when the bytes are damaged. */
  readonly record?: EpochRecord | undefined;
  /** Changes with every renewal. */
  readonly fingerprint: string;
}

/** The largest epoch file: an owner, a name and small change. */
export const maxEpochFileBytes: number = 16 * 1024;

/** The longest time-to-live, in milliseconds: a damaged or hostile record cannot make others wait longer. */
export const maxTtl: number = 24 * 60 * 60 * 1000;

/** An epoch file was written by a later version, whose rules this one does not know. */
export class EpochFileVersionError extends Error {
  override readonly name = 'EpochFileVersionError';
}

// First line, 43 bytes: magic, state word (8), heartbeat (16), newline. Only word and heartbeat ever change, in place and
// through the descriptor of the holder, which can reach no other holder's file.
const magic = 'holdfast-lease/1';
const wordBytes = 8;
const wordOffset = magic.length + 1;
const heartbeatOffset = wordOffset + wordBytes + 1;
const headerBytes = heartbeatOffset + 16 + 1;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes of a new epoch file: state line, record as JSON, SHA-256 of the record's line. */
export function encodeEpochFile(record: EpochRecord, word: EpochWord): Uint8Array {
  const line = JSON.stringify(record);
  return encoder.encode(
    `${magic} ${word.padEnd(wordBytes)} ${formatHeartbeat(0)}\n${line}\n${sha256Hex(encoder.encode(line))}\n`,
  );
}

/** What to write, and where, to renew. */
export function heartbeatPatch(count: number): { readonly bytes: Uint8Array; readonly position: number } {
  return { bytes: encoder.encode(formatHeartbeat(count)), position: heartbeatOffset };
}

/** What to write, and where, to change the state. */
export function statePatch(word: EpochWord): { readonly bytes: Uint8Array; readonly position: number } {
  return { bytes: encoder.encode(word.padEnd(wordBytes)), position: wordOffset };
}

/**
 * Reads an epoch file that should belong to `name` and `epoch`.
 * @throws EpochFileVersionError for files of another version.
 */
export function decodeEpochFile(bytes: Uint8Array, name: string, epoch: number): EpochState {
  const header = String.fromCharCode(...bytes.subarray(0, headerBytes));
  const version = /^holdfast-lease\/(\d{1,9}) /.exec(header)?.[1];
  if (version !== undefined && version !== '1') {
    throw new EpochFileVersionError(
      `lease ${name} was written in format ${version}, this version reads format 1`,
    );
  }
  const intact = header.length === headerBytes && header.startsWith(`${magic} `) && header.endsWith('\n');
  const word = intact ? parseWord(header.slice(wordOffset, wordOffset + wordBytes)) : 'unreadable';
  const heartbeat = header.slice(heartbeatOffset, heartbeatOffset + 16);
  const record = intact ? decodeRecord(bytes.subarray(headerBytes), name, epoch) : undefined;
  return {
    word,
    record,
    fingerprint: record === undefined ? `damaged ${sha256Hex(bytes)}` : `${record.nonce} ${heartbeat}`,
  };
}

function parseWord(text: string): EpochState['word'] {
  const words: readonly EpochWord[] = ['held', 'claiming', 'released'];
  return words.find((word) => word.padEnd(wordBytes) === text) ?? 'unreadable';
}

function decodeRecord(bytes: Uint8Array, name: string, epoch: number): EpochRecord | undefined {
  const newline = bytes.indexOf(0x0a);
  if (newline < 0) return undefined;
  const line = bytes.subarray(0, newline);
  const sum = String.fromCharCode(...bytes.subarray(newline + 1));
  if (sum !== `${sha256Hex(line)}\n`) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(line));
  } catch {
    return undefined;
  }
  const record = parseRecord(value);
  return record?.name === name && record.epoch === epoch ? record : undefined;
}

function parseRecord(value: unknown): EpochRecord | undefined {
  if (!isObject(value)) return undefined;
  const { name, epoch, nonce, owner, ttl, acquired } = value;
  const process = parseProcessIdentity(value['process']);
  if (process === undefined || !isObject(owner)) return undefined;
  if (typeof name !== 'string' || typeof nonce !== 'string' || typeof acquired !== 'string') return undefined;
  if (typeof epoch !== 'number') return undefined;
  if (ttl !== null && (typeof ttl !== 'number' || !(ttl > 0 && ttl <= maxTtl))) return undefined;
  return { name, epoch, nonce, owner: owner as Record<string, JsonValue>, process, ttl, acquired };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function formatHeartbeat(count: number): string {
  return count.toString(16).padStart(16, '0');
}

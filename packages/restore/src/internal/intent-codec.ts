import {
  concatBytes,
  decodePathText,
  encodePathText,
  fromHex,
  type JsonValue,
  sha256Hex,
  textOf,
  toHex,
} from '@holdfast/base';
import { type ContentKey, type LiveSignature, tryParseRef } from '@holdfast/workspacestore';

import { RestoreIntentError } from '../errors.js';
import { type CommittingRecord, intentVersion, type RestoreIntent, type RestorePhase } from '../intent.js';
import type { BeforeState, NodeState, Operation, OperationAction } from '../operation.js';
import type { ChangeKind } from '../plan.js';
import { depthOf, pathKey } from './path-key.js';

/**
 * A record is one line: `<bytes of JSON> <SHA-256 of JSON> <JSON>` and a newline. JSON has no raw newline, so a torn
 * append is told from damage: only the last line may lack its newline.
 */
export function encodeRecord(value: JsonValue): Uint8Array {
  const json = encoder.encode(JSON.stringify(value));
  return concatBytes([encoder.encode(`${json.length} ${sha256Hex(json)} `), json, encoder.encode('\n')]);
}

/** The record at `offset`: its value and where the next one begins; `undefined` when no whole record begins there. */
export function decodeRecord(bytes: Uint8Array, offset: number): { value: unknown; end: number } | undefined {
  const head = /^(\d{1,10}) ([0-9a-f]{64}) /.exec(
    Buffer.from(bytes.subarray(offset, offset + 76)).toString('latin1'),
  );
  if (head === null) return undefined;
  const start = offset + head[0].length;
  const json = bytes.subarray(start, start + Number(head[1]));
  const end = start + json.length + 1;
  if (json.length !== Number(head[1]) || bytes[end - 1] !== newline || sha256Hex(json) !== head[2])
    return undefined;
  try {
    return { value: JSON.parse(decoder.decode(json)) as unknown, end };
  } catch {
    return undefined;
  }
}

export const newline = 0x0a;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

export function encodeIntent(intent: RestoreIntent): JsonValue {
  const { event, operations, root, ...facts } = intent;
  return {
    type: 'intent',
    ...facts,
    root: { inode: root.inode, birthtimeNs: root.birthtimeNs },
    event: toHex(event),
    operations: operations.map(encodeOperation),
  };
}

export function encodePhase(phase: RestorePhase, committing?: CommittingRecord): JsonValue {
  return committing === undefined
    ? { type: 'phase', phase }
    : { type: 'phase', phase, skipped: committing.skipped, state: committing.state };
}

/** @throws RestoreIntentError for an unknown version or for anything that this package cannot have written. */
export function decodeIntent(value: unknown): RestoreIntent {
  const record = members(value);
  if (record['type'] !== 'intent') throw damaged('the first record is no intent');
  if (record['version'] !== intentVersion) {
    throw new RestoreIntentError(
      'unknown-version',
      `version ${textOf(record['version'])}, this package knows 1`,
    );
  }
  const root = members(record['root']);
  const operations = record['operations'];
  if (!Array.isArray(operations)) throw damaged('operations are no list');
  return {
    version: intentVersion,
    restoreId: matching(record['restoreId'], /^[0-9a-f]{32}$/, 'restoreId'),
    session: matching(record['session'], /^[a-z0-9-]{1,64}$/, 'session'),
    epoch: wholeNumber(record['epoch'], 'epoch'),
    position: wholeNumber(record['position'], 'position'),
    ref: ref(record['ref'], 'ref'),
    previousRef: record['previousRef'] === undefined ? undefined : ref(record['previousRef'], 'previousRef'),
    safetyRef: record['safetyRef'] === undefined ? undefined : ref(record['safetyRef'], 'safetyRef'),
    strategy: matching(record['strategy'], /^[a-z0-9-]{1,40}$/, 'strategy'),
    planDigest: matching(record['planDigest'], /^[0-9a-f]{64}$/, 'planDigest'),
    base: matching(record['base'], /^[0-9a-f]{64}$/, 'base'),
    root: {
      inode: matching(root['inode'], /^\d{1,20}$/, 'root.inode'),
      birthtimeNs: matching(root['birthtimeNs'], /^-?\d{1,20}$/, 'root.birthtimeNs'),
    },
    owner: (record['owner'] ?? null) as JsonValue,
    event: fromHex(matching(record['event'], /^(?:[0-9a-f]{2})*$/, 'event')) ?? new Uint8Array(),
    operations: operations.map((operation, number) => decodeOperation(operation, number)),
  };
}

/** @throws RestoreIntentError for anything that is no phase record. */
export function decodePhase(value: unknown): {
  phase: RestorePhase;
  committing?: CommittingRecord | undefined;
} {
  const record = members(value);
  const phase = record['phase'];
  if (record['type'] !== 'phase' || !phases.includes(phase as RestorePhase))
    throw damaged('a record is no phase');
  if (phase !== 'committing') return { phase: phase as RestorePhase };
  const skipped = record['skipped'];
  if (!Array.isArray(skipped) || !skipped.every((number) => Number.isSafeInteger(number))) {
    throw damaged('skipped operations are no list of numbers');
  }
  return {
    phase,
    committing: { skipped: skipped as number[], state: (record['state'] ?? null) as JsonValue },
  };
}

const phases: readonly RestorePhase[] = ['prepared', 'committing', 'committed', 'undone'];
const actions: readonly OperationAction[] = ['unlink', 'rmdir', 'mkdir', 'put', 'chmod'];
const kinds: readonly ChangeKind[] = [
  'directory',
  'file',
  'symlink',
  'fifo',
  'socket',
  'char-device',
  'block-device',
  'other',
];

function encodeOperation(operation: Operation): JsonValue {
  const { action, path, before, after } = operation;
  return {
    action,
    path: encodePathText(path),
    ...(before === undefined
      ? {}
      : { before: { ...encodeState(before), signature: encodeSignature(before.signature) } }),
    ...(after === undefined ? {} : { after: encodeState(after) }),
  };
}

function encodeState(state: NodeState): { readonly [key: string]: JsonValue | undefined } {
  return {
    kind: state.kind,
    mode: state.mode,
    size: state.size,
    content: state.content,
    target: state.target === undefined ? undefined : encodePathText(state.target),
  };
}

/** A signature as a list: kind, mode, size, inode, modification time, change time, link count. */
export function encodeSignature(signature: LiveSignature | undefined): JsonValue | undefined {
  if (signature === undefined) return undefined;
  const { ino, mtimeNs, ctimeNs, nlink, mode, size, kind } = signature;
  return [kind, mode, size, String(ino), String(mtimeNs), String(ctimeNs), nlink];
}

function decodeOperation(value: unknown, number: number): Operation {
  const record = members(value);
  const action = record['action'] as OperationAction;
  if (!actions.includes(action)) throw damaged('an operation has an unknown action');
  const path = safePath(record['path'], action === 'chmod');
  const before = record['before'] === undefined ? undefined : decodeBefore(record['before']);
  const after = record['after'] === undefined ? undefined : decodeState(record['after']);
  if ((action === 'unlink' || action === 'rmdir' || action === 'chmod') && before === undefined) {
    throw damaged('an operation does not say what stood there');
  }
  if ((action === 'mkdir' || action === 'put' || action === 'chmod') && after === undefined) {
    throw damaged('an operation does not say what will stand there');
  }
  return { number, action, path, before, after };
}

/** Paths are read as if an enemy had written them: nothing may leave the root. */
export function safePath(value: unknown, mayBeRoot: boolean): Uint8Array {
  if (value === '' && mayBeRoot) return new Uint8Array();
  const path = decodedText(value);
  const key = pathKey(path);
  const broken = key
    .split('/')
    .some((name) => name === '' || name === '.' || name === '..' || name.includes('\0'));
  if (broken || key.length > 4_095 || depthOf(key) > 4_095) throw damaged('a path leaves the root');
  return path;
}

/** Reads path text of a record. */
export function decodedText(value: unknown): Uint8Array {
  if (typeof value !== 'string') throw damaged('a path is no text');
  try {
    return decodePathText(value);
  } catch (error) {
    throw new RestoreIntentError('damaged', 'a path is no path text', { cause: error });
  }
}

function decodeBefore(value: unknown): BeforeState {
  return { ...decodeState(value), signature: decodeSignature(members(value)['signature']) };
}

function decodeState(value: unknown): NodeState {
  const record = members(value);
  const kind = record['kind'] as ChangeKind;
  if (!kinds.includes(kind)) throw damaged('an unknown kind of node');
  const { content, target } = record;
  return {
    kind,
    mode: wholeNumber(record['mode'], 'mode') & 0o7777,
    size: wholeNumber(record['size'], 'size'),
    content:
      content === undefined ? undefined : (matching(content, /^[0-9a-f]{64}$/, 'content') as ContentKey),
    target: target === undefined ? undefined : decodedText(target),
  };
}

export function decodeSignature(value: unknown): LiveSignature | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length !== 7) throw damaged('a signature is no list of seven');
  const [kind, mode, size, ino, mtimeNs, ctimeNs, nlink] = value as unknown[];
  return {
    kind: matching(kind, /^[a-z-]{1,20}$/, 'signature kind'),
    mode: wholeNumber(mode, 'signature mode'),
    size: wholeNumber(size, 'signature size'),
    ino: BigInt(matching(ino, /^\d{1,20}$/, 'signature inode')),
    mtimeNs: BigInt(matching(mtimeNs, /^-?\d{1,20}$/, 'signature mtime')),
    ctimeNs: BigInt(matching(ctimeNs, /^-?\d{1,20}$/, 'signature ctime')),
    nlink: wholeNumber(nlink, 'signature link count'),
  };
}

export function members(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw damaged('a record is no object');
  return value as Readonly<Record<string, unknown>>;
}

export function matching(value: unknown, grammar: RegExp, name: string): string {
  if (typeof value !== 'string' || !grammar.test(value)) throw damaged(`${name} is malformed`);
  return value;
}

export function wholeNumber(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw damaged(`${name} is no whole number`);
  return value;
}

function ref(value: unknown, name: string): NonNullable<ReturnType<typeof tryParseRef>> {
  const parsed = tryParseRef(value);
  if (parsed === undefined) throw damaged(`${name} is no ref`);
  return parsed;
}

export function damaged(detail: string): RestoreIntentError {
  return new RestoreIntentError('damaged', detail);
}

import type { JsonValue } from '@holdfast/base';

import { JournalCorruptError } from './errors.js';
import { parseJsonText } from './internal/json-text.js';
import { isObject, isRefText } from './internal/schema.js';
import { sealText, unsealText } from './internal/sealed-text.js';
import { JournalVersionError } from './session-errors.js';

/** The `refs` note of a session: what others must know without opening its journal. */
export interface RefsNote {
  readonly sessionId: string;
  /** Epoch of the owner that wrote the note. */
  readonly epoch: number;
  /** The highest acknowledged tip when it was written, and the digest of the record there. */
  readonly tip: number;
  readonly digest: string;
  /** At least every ref that the session needs. */
  readonly refs: readonly string[];
}

/** Writes a `refs` note. */
export function encodeRefsNote(note: RefsNote): Uint8Array {
  const { sessionId: session, epoch, tip, digest, refs } = note;
  return sealText(JSON.stringify({ v: 1, session, epoch, tip, digest, refs })).bytes;
}

/**
 * Reads a `refs` note.
 * @throws JournalCorruptError when a single bit differs from what was written, or it is another session's.
 * @throws JournalVersionError when a newer version wrote it.
 */
export function decodeRefsNote(sessionId: string, bytes: Uint8Array): RefsNote {
  const unreadable = (detail: string, cause?: unknown): JournalCorruptError =>
    new JournalCorruptError(sessionId, 'refs-unreadable', { detail, cause });
  const sealed = unsealText(bytes);
  if (sealed === undefined) throw unreadable('the refs note has another digest than its content');
  let value: JsonValue;
  try {
    value = parseJsonText(sealed.text);
  } catch (error) {
    throw unreadable('the refs note is no JSON', error);
  }
  if (!isObject(value)) throw unreadable('the refs note is no object');
  if (value['v'] !== 1) {
    throw new JournalVersionError(sessionId, 0, `a refs note of version ${JSON.stringify(value['v'])}`);
  }
  const { session, epoch, tip, digest, refs } = value;
  if (session !== sessionId) throw unreadable('the refs note belongs to another session');
  const fits =
    Number.isSafeInteger(epoch) &&
    Number.isSafeInteger(tip) &&
    typeof digest === 'string' &&
    Array.isArray(refs) &&
    refs.every(isRefText);
  if (!fits) throw unreadable('the refs note lacks a member');
  return { sessionId, epoch: epoch as number, tip: tip as number, digest, refs: refs as readonly string[] };
}

import type { FoldedCheckpoint, FoldedWorkspace, SessionFold } from './fold.js';
import { parseJsonText, writeJsonText } from './internal/json-text.js';
import { count, freeText, isObject, object, oneOf, optional, refText, text } from './internal/schema.js';
import { sealText, unsealText } from './internal/sealed-text.js';

/** What a list of sessions shows. Best effort: it may lag behind the journal, which alone is the truth. */
export type SessionSummary = {
  readonly id: string;
  readonly title: string | undefined;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly lastActive: number;
  /** `unknown`: neither a summary nor the journal could be read; `problem` says why. */
  readonly state: SessionFold['state'] | 'unknown';
  readonly lastCheckpoint: FoldedCheckpoint | undefined;
  readonly currentWorkspace: FoldedWorkspace | undefined;
  /** Code of the error that kept the journal from being read. */
  readonly problem?: string | undefined;
};

/** Makes the summary of a session from its fold. */
export function summaryOf(id: string, fold: SessionFold): SessionSummary {
  const { title, createdAt, lastActive, state, lastCheckpoint, currentWorkspace } = fold;
  return {
    id,
    title,
    createdAt,
    lastActive: Math.max(createdAt, lastActive),
    state,
    lastCheckpoint,
    currentWorkspace,
  };
}

/** Writes the summary note. */
export function encodeSummary(summary: SessionSummary): Uint8Array {
  const written = writeJsonText({ v: 1, ...summary }, 'summary');
  if ('problem' in written) throw new TypeError(`${written.problem.path}: ${written.problem.detail}`);
  return sealText(written.text).bytes;
}

const checkpoint = { ref: refText, eventId: text, seq: count(1) };

/** What a summary of version 1 has; whatever wrote it otherwise, a list shows nothing wrong of it. */
const fits = object({
  id: text,
  title: optional(freeText),
  createdAt: count(),
  lastActive: count(),
  state: oneOf(['new', 'active', 'idle', 'stopped', 'unknown']),
  lastCheckpoint: optional(object({ ...checkpoint, consistency: text, trigger: text, time: count() })),
  currentWorkspace: optional(object(checkpoint)),
  problem: optional(text),
});

/** Reads a summary note; `undefined` when it is damaged, of another version or of another session. */
export function decodeSummary(id: string, bytes: Uint8Array): SessionSummary | undefined {
  const sealed = unsealText(bytes);
  if (sealed === undefined) return undefined;
  try {
    const value = parseJsonText(sealed.text);
    if (!isObject(value) || value['v'] !== 1 || value['id'] !== id) return undefined;
    if (fits(value, 'summary') !== undefined) return undefined;
    const { v, title, lastCheckpoint, currentWorkspace, ...rest } = value;
    void v;
    return { title, lastCheckpoint, currentWorkspace, ...rest } as unknown as SessionSummary;
  } catch {
    return undefined;
  }
}

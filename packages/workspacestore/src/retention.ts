import type { Ref } from './ref.js';

/** A checkpoint as a journal knows it. */
export interface RetentionCandidate {
  readonly ref: Ref;
  /** Whatever groups checkpoints: the session's id. */
  readonly session: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Kept whatever the policy says: labelled by a person, needed by a rewind, base of an open restore. */
  readonly pinned?: boolean | undefined;
}

export interface RetentionPolicy {
  /** Newest checkpoints kept of every session; default 1: a session can always be opened. */
  readonly keepLast?: number | undefined;
  /** Milliseconds; younger checkpoints are kept. Default 0. */
  readonly keepWithinMs?: number | undefined;
}

/**
 * Chooses the refs that a policy keeps, for `live` of a collection. A ref that several checkpoints share is kept when
 * any of them is. Every session keeps at least its newest checkpoint.
 */
export function retain(
  candidates: Iterable<RetentionCandidate>,
  policy: RetentionPolicy,
  now: number,
): ReadonlySet<Ref> {
  const keepLast = Math.max(1, policy.keepLast ?? 1);
  const since = now - (policy.keepWithinMs ?? 0);
  const sessions = new Map<string, RetentionCandidate[]>();
  for (const candidate of candidates) {
    const list = sessions.get(candidate.session);
    if (list === undefined) sessions.set(candidate.session, [candidate]);
    else list.push(candidate);
  }
  const kept = new Set<Ref>();
  for (const list of sessions.values()) {
    const newestFirst = [...list].sort((a, b) => b.time - a.time);
    for (const [position, { ref, time, pinned }] of newestFirst.entries()) {
      if (position < keepLast || pinned === true || time > since) kept.add(ref);
    }
  }
  return kept;
}

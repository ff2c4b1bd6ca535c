import type {
  CheckpointCause,
  CheckpointConsistency,
  CheckpointStats,
  CheckpointTrigger,
} from './event-bodies.js';
import type { Fact } from './internal/facts.js';

/** A checkpoint of a session, as a timeline shows it. */
export interface CheckpointInfo {
  readonly seq: number;
  /** Record id of the event. */
  readonly id: string;
  readonly ref: string;
  readonly trigger: CheckpointTrigger;
  readonly cause: CheckpointCause | undefined;
  readonly consistency: CheckpointConsistency;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly stats: CheckpointStats;
}

/** A ref that a session still needs, and the record that names it. */
export interface NeededRef {
  readonly ref: string;
  /** The first record that names it. */
  readonly seq: number;
  readonly reason: 'checkpoint' | 'restored' | 'restore-or-seed';
}

/** @internal */
export function checkpointOf(fact: Fact): CheckpointInfo | undefined {
  if (fact.is !== 'checkpoint') return undefined;
  const { seq, id, ref, trigger, cause, consistency, time, stats } = fact;
  return { seq, id, ref, trigger, cause, consistency, time, stats };
}

/**
 * The checkpoint that shows the tree as a turn left it: the last one that names the turn as its cause; else the first
 * one after the turn's end with no other turn begun in between.
 * @internal
 */
export function findCheckpointForTurn(facts: readonly Fact[], turn: string): CheckpointInfo | undefined {
  let named: CheckpointInfo | undefined;
  let next: CheckpointInfo | undefined;
  let ended = false;
  for (const fact of facts) {
    if (fact.is === 'checkpoint') {
      if (fact.cause?.turn === turn) named = checkpointOf(fact);
      if (ended) next ??= checkpointOf(fact);
    }
    if (fact.is === 'turn-ended' && fact.turn === turn) ended = true;
    if (fact.is === 'turn-started' && next === undefined) ended = false;
  }
  return named ?? next;
}

/** @internal */
export function neededRefsOf(facts: readonly Fact[]): readonly NeededRef[] {
  const needed = new Map<string, NeededRef>();
  const add = (ref: string, seq: number, reason: NeededRef['reason']): void => {
    if (!needed.has(ref)) needed.set(ref, { ref, seq, reason });
  };
  for (const fact of facts) {
    if (fact.is === 'checkpoint') add(fact.ref, fact.seq, 'checkpoint');
    if (fact.is === 'restored') add(fact.ref, fact.seq, 'restored');
    if (fact.is === 'needed') for (const ref of fact.refs) add(ref, fact.seq, 'restore-or-seed');
  }
  return [...needed.values()];
}

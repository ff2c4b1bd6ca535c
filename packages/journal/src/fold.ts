import type { JsonValue } from '@holdfast/base';

import type {
  CheckpointConsistency,
  CheckpointTrigger,
  ConversationRewoundBody,
  RestoreAbortedBody,
  RestorePreparedBody,
  RestoreStartedBody,
  SessionPlacement,
  TitleBody,
  TurnStartedBody,
  WorkspaceCheckpointedBody,
  WorkspaceRestoredBody,
} from './event-bodies.js';

/** The checkpoint with the highest sequence. */
export type FoldedCheckpoint = {
  readonly ref: string;
  readonly eventId: string;
  readonly seq: number;
  readonly consistency: CheckpointConsistency;
  readonly trigger: CheckpointTrigger;
  readonly time: number;
};

/** What the tree of the session is, by the highest sequence of checkpoint and restore. */
export type FoldedWorkspace = {
  readonly ref: string;
  readonly eventId: string;
  readonly seq: number;
  readonly source: 'checkpoint' | 'restore';
};

/** A `restore-started` that neither `WorkspaceRestored` nor `restore-aborted` has ended. */
export type FoldedRestore = RestoreStartedBody & {
  readonly seq: number;
  readonly epoch: number;
  readonly time: number;
  /** The `restore-prepared` record of this restore, when there is one. */
  readonly prepared?: RestorePreparedBody | undefined;
};

/** The last restore that was completed. */
export type FoldedRestored = {
  readonly restoreId: string;
  readonly ref: string;
  readonly seq: number;
  readonly prepared?: RestorePreparedBody | undefined;
};

export type OpenTurn = { readonly turn: string; readonly loop: string; readonly seq: number };

/** `to` is the last record that stays in effect after the rewind at `seq`. */
export type Rewind = { readonly seq: number; readonly to: number };

/** What a session's journal says about its present, by sequence and never by arrival. A JSON value. */
export type SessionFold = {
  /** The last record that is part of it. */
  readonly seq: number;
  /** Time of the first record; milliseconds since 1970. */
  readonly createdAt: number;
  /** Time of the last event. */
  readonly lastActive: number;
  readonly title?: string | undefined;
  readonly state: 'new' | 'active' | 'idle' | 'stopped';
  readonly placement?: SessionPlacement | undefined;
  /** The highest epoch of any fence. */
  readonly fenceEpoch: number;
  readonly lastCheckpoint?: FoldedCheckpoint | undefined;
  readonly currentWorkspace?: FoldedWorkspace | undefined;
  readonly openRestore?: FoldedRestore | undefined;
  readonly lastRestore?: FoldedRestored | undefined;
  /** Turns that were started and not ended. */
  readonly openTurns: readonly OpenTurn[];
  readonly rewinds: readonly Rewind[];
  readonly events: number;
  readonly checkpoints: number;
};

/** The fold of an empty journal. */
export const emptyFold: SessionFold = Object.freeze({
  seq: 0,
  createdAt: 0,
  lastActive: 0,
  state: 'new',
  fenceEpoch: 0,
  openTurns: Object.freeze([]),
  rewinds: Object.freeze([]),
  events: 0,
  checkpoints: 0,
});

/** What the fold looks at in a record whose pointer was resolved and whose schema was checked. */
export interface FoldInput {
  readonly seq: number;
  readonly kind: 'event' | 'private' | 'fence' | 'index';
  readonly id: string;
  readonly epoch: number;
  readonly time: number;
  readonly type: string | undefined;
  readonly body: JsonValue;
}

/** Returns the fold after one more record. */
export function foldRecord(fold: SessionFold, record: FoldInput): SessionFold {
  const next = { ...fold, seq: record.seq };
  if (record.seq === 1) next.createdAt = record.time;
  switch (record.kind) {
    case 'index':
      return next;
    case 'fence':
      return { ...next, fenceEpoch: Math.max(fold.fenceEpoch, record.epoch) };
    case 'private':
      return foldPrivate(next, record);
    case 'event':
      return foldEvent({ ...next, lastActive: record.time, events: fold.events + 1 }, record);
  }
}

function foldPrivate(fold: SessionFold, record: FoldInput): SessionFold {
  switch (record.type) {
    case 'title':
      return { ...fold, title: (record.body as TitleBody).title };
    case 'restore-started': {
      const body = record.body as RestoreStartedBody;
      return {
        ...fold,
        openRestore: { ...body, seq: record.seq, epoch: record.epoch, time: record.time },
      };
    }
    case 'restore-prepared': {
      const body = record.body as RestorePreparedBody;
      if (fold.openRestore?.restoreId !== body.restoreId) return fold;
      return { ...fold, openRestore: { ...fold.openRestore, prepared: body } };
    }
    case 'restore-aborted': {
      const { restoreId } = record.body as RestoreAbortedBody;
      return fold.openRestore?.restoreId === restoreId ? { ...fold, openRestore: undefined } : fold;
    }
    default:
      return fold;
  }
}

function foldEvent(fold: SessionFold, record: FoldInput): SessionFold {
  const { seq, id: eventId } = record;
  switch (record.type) {
    case 'SessionStarted':
    case 'SessionRestored': {
      const { placement } = record.body as { placement?: SessionPlacement };
      return { ...fold, state: 'idle', placement: placement ?? fold.placement };
    }
    case 'SessionStopped':
      return { ...fold, state: 'stopped' };
    case 'SessionActive':
      return { ...fold, state: 'active' };
    case 'SessionIdle':
      return { ...fold, state: 'idle' };
    case 'TurnStarted': {
      const { turn, loop } = record.body as TurnStartedBody;
      return { ...fold, openTurns: [...fold.openTurns, { turn, loop, seq }] };
    }
    case 'TurnDone':
    case 'TurnFailed':
    case 'TurnInterrupted': {
      const { turn } = record.body as { turn: string };
      return { ...fold, openTurns: fold.openTurns.filter((open) => open.turn !== turn) };
    }
    case 'WorkspaceCheckpointed': {
      const { ref, consistency, trigger } = record.body as WorkspaceCheckpointedBody;
      return {
        ...fold,
        checkpoints: fold.checkpoints + 1,
        lastCheckpoint: { ref, eventId, seq, consistency, trigger, time: record.time },
        currentWorkspace: { ref, eventId, seq, source: 'checkpoint' },
      };
    }
    case 'WorkspaceRestored': {
      const { ref } = record.body as WorkspaceRestoredBody;
      const ends = fold.openRestore?.restoreId === eventId;
      return {
        ...fold,
        currentWorkspace: { ref, eventId, seq, source: 'restore' },
        lastRestore: {
          restoreId: eventId,
          ref,
          seq,
          prepared: ends ? fold.openRestore?.prepared : undefined,
        },
        openRestore: ends ? undefined : fold.openRestore,
      };
    }
    case 'ConversationRewound': {
      const { seq: to } = record.body as ConversationRewoundBody;
      return { ...fold, rewinds: [...fold.rewinds, { seq, to }] };
    }
    default:
      return fold;
  }
}

/** Sequences `from` to `to`, both inclusive. */
export interface SequenceRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the records that make up the conversation now, as ascending ranges. A rewind brings back what was in effect at
 * its `to`, including what an earlier rewind had taken out.
 */
export function effectiveRanges(fold: SessionFold, tip: number = fold.seq): readonly SequenceRange[] {
  const ranges: SequenceRange[] = [];
  let last = tip;
  for (let index = fold.rewinds.length - 1; index >= 0 && last > 0; index -= 1) {
    const rewind = fold.rewinds[index] as Rewind;
    if (rewind.seq > last) continue;
    if (rewind.seq < last) ranges.push({ from: rewind.seq + 1, to: last });
    last = rewind.to;
  }
  if (last > 0) ranges.push({ from: 1, to: last });
  return ranges.reverse();
}

import type { JsonValue } from '@holdfast/base';

/** Why a checkpoint was taken. */
export type CheckpointTrigger =
  | 'manual'
  | 'idle'
  | 'interrupt'
  | 'turn-done'
  | 'step-done'
  | 'seed'
  | 'baseline'
  | 'safety'
  | 'recovered';

/** `quiescent`: nothing of the session wrote during the scan. `fuzzy`: others may have. */
export type CheckpointConsistency = 'quiescent' | 'fuzzy';

/** What led to a checkpoint. Which members are required depends on the trigger: see `docs/events.md`. */
export type CheckpointCause = {
  /** Record id of the event that triggered it. */
  readonly event?: string | undefined;
  readonly turn?: string | undefined;
  /** Number of the step in its turn, from 1. */
  readonly step?: number | undefined;
  readonly loop?: string | undefined;
  /** Id of the restore that a safety checkpoint precedes. */
  readonly restore?: string | undefined;
};

export type CheckpointStats = {
  readonly entries: number;
  readonly files: number;
  readonly bytes: number;
  readonly filesRead: number;
  readonly bytesRead: number;
  readonly bytesStored: number;
  readonly durationMs: number;
};

export type CheckpointCoverage = {
  readonly omitted: readonly { readonly path: string; readonly reason: string }[];
  readonly dropped: readonly { readonly path: string; readonly what: string }[];
  readonly raced: readonly string[];
};

/** Where a session's files live. */
export type SessionPlacement = {
  readonly mode: 'exclusive' | 'per-session' | 'shared';
  /** The canonical root, as path text. */
  readonly root: string;
  /** What names the workspace store, where there is such a name. */
  readonly store?: string | undefined;
};

/** A failure as events show it. */
export type EventFailure = {
  readonly code?: string | undefined;
  readonly kind?: string | undefined;
  readonly message: string;
};

export type SessionStartedBody = {
  readonly placement?: SessionPlacement | undefined;
  /** Ref that the session was seeded with. */
  readonly seed?: string | undefined;
  /** The session and record that this one was forked from. */
  readonly forkedFrom?: { readonly session: string; readonly seq: number } | undefined;
};

export type SessionRestoredBody = {
  readonly placement?: SessionPlacement | undefined;
  /** Turns that the end of the previous process interrupted. */
  readonly interrupted?: readonly string[] | undefined;
};

export type SessionStoppedBody = { readonly reason?: string | undefined };
export type SessionActiveBody = { readonly loop?: string | undefined };
export type SessionIdleBody = { readonly loop?: string | undefined };
export type LoopStartedBody = {
  /** The instance. */
  readonly loop: string;
  /** The definition's name. */
  readonly name: string;
  /** The loop that started this one, for a delegate. */
  readonly parent?: string | undefined;
};
export type LoopIdleBody = { readonly loop: string };
export type TurnStartedBody = {
  readonly turn: string;
  readonly loop: string;
  readonly input?: JsonValue | undefined;
};
export type StepDoneBody = {
  readonly turn: string;
  readonly loop: string;
  /** From 1. */
  readonly step: number;
  readonly output?: JsonValue | undefined;
};
export type TurnDoneBody = {
  readonly turn: string;
  readonly loop: string;
  readonly output?: JsonValue | undefined;
};
export type TurnFailedBody = {
  readonly turn: string;
  readonly loop: string;
  readonly error: EventFailure;
};
export type TurnInterruptedBody = {
  readonly turn: string;
  readonly loop: string;
  readonly reason?: string | undefined;
};
export type WorkspaceCheckpointedBody = {
  readonly ref: string;
  /** What keeps the snapshot alive until this event is durable. */
  readonly hold?: JsonValue | undefined;
  readonly consistency: CheckpointConsistency;
  readonly trigger: CheckpointTrigger;
  readonly cause?: CheckpointCause | undefined;
  readonly stats: CheckpointStats;
  readonly coverage: CheckpointCoverage;
};
export type WorkspaceCheckpointFailedBody = {
  readonly trigger: CheckpointTrigger;
  readonly cause?: CheckpointCause | undefined;
  readonly error: EventFailure;
  readonly durationMs?: number | undefined;
};
/** Exactly this; the id of the record is the restore's id. */
export type WorkspaceRestoredBody = { readonly ref: string };
export type ConversationRewoundBody = {
  /** The turn or event that was asked for. */
  readonly to: string;
  /** The last record that stays in effect; always below the record of this event. */
  readonly seq: number;
};

/** The bodies of the catalogue's events, by type. */
export interface CatalogueBodies {
  readonly SessionStarted: SessionStartedBody;
  readonly SessionRestored: SessionRestoredBody;
  readonly SessionStopped: SessionStoppedBody;
  readonly SessionActive: SessionActiveBody;
  readonly SessionIdle: SessionIdleBody;
  readonly LoopStarted: LoopStartedBody;
  readonly LoopIdle: LoopIdleBody;
  readonly TurnStarted: TurnStartedBody;
  readonly StepDone: StepDoneBody;
  readonly TurnDone: TurnDoneBody;
  readonly TurnFailed: TurnFailedBody;
  readonly TurnInterrupted: TurnInterruptedBody;
  readonly WorkspaceCheckpointed: WorkspaceCheckpointedBody;
  readonly WorkspaceCheckpointFailed: WorkspaceCheckpointFailedBody;
  readonly WorkspaceRestored: WorkspaceRestoredBody;
  readonly ConversationRewound: ConversationRewoundBody;
}

/** A type of the catalogue. */
export type CatalogueType = keyof CatalogueBodies;

export type RestoreStartedBody = {
  /** Id that `WorkspaceRestored` will have. */
  readonly restoreId: string;
  readonly ref: string;
  /** What the tree was before; `null` when the session had no ref yet. */
  readonly previousRef: string | null;
  /** The safety checkpoint; `null` when it was turned off. */
  readonly safetyRef?: string | null | undefined;
  readonly strategy: string;
  readonly planDigest?: string | undefined;
  readonly host?: string | undefined;
  /** Identity of the root, as the restore package writes it. */
  readonly root?: JsonValue | undefined;
};
export type RestorePreparedBody = {
  readonly restoreId: string;
  readonly exact?: boolean | undefined;
  /** Key of the verified tree: drift at the next opening is measured against it. */
  readonly treeKey?: string | undefined;
  readonly receipt?: JsonValue | undefined;
};
export type RestoreAbortedBody = { readonly restoreId: string; readonly reason?: string | undefined };
export type TitleBody = { readonly title: string };

/** The bodies of the private records that the journal itself understands, by type. */
export interface PrivateBodies {
  readonly 'restore-started': RestoreStartedBody;
  readonly 'restore-prepared': RestorePreparedBody;
  readonly 'restore-aborted': RestoreAbortedBody;
  readonly title: TitleBody;
}

/** A private type that the journal understands. */
export type PrivateType = keyof PrivateBodies;

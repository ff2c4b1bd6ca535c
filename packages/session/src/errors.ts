import { HoldfastError, quote } from '@holdfast/base';

import type { ControlCallError, ControlUnavailableError } from './control/errors.js';

export interface SessionErrorOptions {
  readonly cause?: unknown;
}

/** The session has no managed workspace; neither the disk nor the journal was touched. */
export class WorkspaceNotConfiguredError extends HoldfastError {
  static override readonly code = 'SESSION_WORKSPACE_NOT_CONFIGURED';
  declare readonly code: 'SESSION_WORKSPACE_NOT_CONFIGURED';
  declare readonly sessionId: string;
  /** The method that was called. */
  declare readonly operation: string;

  constructor(sessionId: string, operation: string) {
    super(
      `${operation}: session ${quote(sessionId)} has no workspace; define its rig with a workspace placement`,
      { fields: { sessionId, operation }, effect: 'none' },
    );
  }
}

/** The session is shutting down or has ended. */
export class SessionClosedError extends HoldfastError {
  static override readonly code = 'SESSION_CLOSED';
  declare readonly code: 'SESSION_CLOSED';
  declare readonly sessionId: string;
  declare readonly kind: 'closing' | 'closed';

  constructor(sessionId: string, kind: 'closing' | 'closed') {
    const detail = kind === 'closing' ? 'is shutting down' : 'has ended';
    super(`session ${quote(sessionId)} ${detail}: open it again to go on`, {
      fields: { sessionId, kind },
      effect: 'none',
    });
  }
}

/** Why a session is faulted. */
export type FaultReason =
  /** An event that must be in the journal could not be appended. */
  | 'append-failed'
  /** The session's lease or the lease of its root was lost. */
  | 'lease-lost'
  /** A restore could not be undone. */
  | 'rollback-failed'
  /** The tree was restored but the journal could not record it. */
  | 'restore-append-failed'
  /** A required checkpoint failed. */
  | 'checkpoint-failed';

/** `terminal`: until the session is opened again. `recoverable`: until a manual checkpoint succeeds. */
export type FaultKind = 'terminal' | 'recoverable';

/** The session is faulted and refuses this call; the cause is what faulted it. */
export class SessionFaultedError extends HoldfastError {
  static override readonly code = 'SESSION_FAULTED';
  declare readonly code: 'SESSION_FAULTED';
  declare readonly sessionId: string;
  declare readonly kind: FaultKind;
  declare readonly reason: FaultReason;

  constructor(sessionId: string, kind: FaultKind, reason: FaultReason, cause: unknown) {
    const remedy =
      kind === 'terminal' ? 'shut it down and open it again' : 'take a manual checkpoint to go on';
    super(`session ${quote(sessionId)} is faulted (${reason}): ${remedy}`, {
      cause,
      fields: { sessionId, kind, reason },
      effect: 'none',
    });
  }
}

/** Why there is no checkpoint. */
export type CheckpointErrorKind =
  /** The session is shutting down, or the permit could not be had. */
  | 'unavailable'
  /** A turn is running. */
  | 'not-idle'
  | 'faulted'
  /** The policy's timeout ran out. */
  | 'timeout'
  /** The library cancelled it: shutdown, lease loss, or new activity (best effort only). */
  | 'canceled'
  /** The tree could not be captured. */
  | 'failed'
  /** The event that triggered it could not be appended; the session is faulted. */
  | 'trigger-append-failed'
  /** The snapshot exists but its event could not be appended; the session is faulted. */
  | 'append-failed';

/** A checkpoint was not taken: no event names a new ref. */
export class CheckpointError extends HoldfastError {
  static override readonly code = 'SESSION_CHECKPOINT';
  declare readonly code: 'SESSION_CHECKPOINT';
  declare readonly kind: CheckpointErrorKind;
  declare readonly sessionId: string;
  declare readonly trigger: string;

  constructor(
    kind: CheckpointErrorKind,
    sessionId: string,
    trigger: string,
    detail: string,
    options: SessionErrorOptions = {},
  ) {
    super(`checkpoint (${trigger}) of session ${quote(sessionId)} was not taken (${kind}): ${detail}`, {
      cause: options.cause,
      fields: { kind, sessionId, trigger },
      effect: kind === 'append-failed' || kind === 'trigger-append-failed' ? 'unknown' : 'none',
    });
  }
}

/** What cannot be found by the name or id that was given. */
export type MissingKind = 'loop' | 'point' | 'undo' | 'checkpoint';

/** The session has no such loop, turn, event or checkpoint; nothing was changed. */
export class SessionPointError extends HoldfastError {
  static override readonly code = 'SESSION_POINT';
  declare readonly code: 'SESSION_POINT';
  declare readonly sessionId: string;
  declare readonly kind: MissingKind;
  declare readonly wanted: string;

  constructor(sessionId: string, kind: MissingKind, wanted: string, detail: string) {
    super(`session ${quote(sessionId)}: ${quote(wanted)} was not found (${kind}): ${detail}`, {
      fields: { sessionId, kind, wanted },
      effect: 'none',
    });
  }
}

/** A tool was called in a way it does not allow. */
export type ToolErrorKind = 'input-invalid';

/** A tool call was refused before the tool ran. */
export class ToolCallError extends HoldfastError {
  static override readonly code = 'SESSION_TOOL_CALL';
  declare readonly code: 'SESSION_TOOL_CALL';
  declare readonly tool: string;
  declare readonly kind: ToolErrorKind;

  constructor(tool: string, kind: ToolErrorKind, detail: string, options: SessionErrorOptions = {}) {
    super(`tool ${quote(tool)} was not run (${kind}): ${detail}`, {
      cause: options.cause,
      fields: { tool, kind },
      effect: 'none',
    });
  }
}

/** The phases of a shutdown, in order. */
export type ShutdownPhase =
  | 'control'
  | 'loops'
  | 'restore'
  | 'checkpoints'
  | 'processes'
  | 'journal'
  | 'root-lease'
  | 'session-lease';

/** One or more phases of the shutdown failed or ran out of time; the later ones ran all the same. */
export class ShutdownError extends HoldfastError {
  static override readonly code = 'SESSION_SHUTDOWN';
  declare readonly code: 'SESSION_SHUTDOWN';
  declare readonly sessionId: string;
  declare readonly phases: readonly { readonly phase: ShutdownPhase; readonly kind: 'failed' | 'timeout' }[];

  constructor(
    sessionId: string,
    phases: readonly { readonly phase: ShutdownPhase; readonly kind: 'failed' | 'timeout' }[],
    causes: readonly unknown[],
  ) {
    super(
      `session ${quote(sessionId)} did not shut down cleanly: ${phases.map(({ phase, kind }) => `${phase} ${kind}`).join(', ')}`,
      {
        cause: causes.length === 1 ? causes[0] : new AggregateError(causes, 'several phases failed'),
        fields: { sessionId, phases: phases.map(({ phase, kind }) => ({ phase, kind })) },
      },
    );
  }
}

/** Every error class that this package defines. */
export type SessionError =
  | WorkspaceNotConfiguredError
  | SessionClosedError
  | SessionFaultedError
  | CheckpointError
  | SessionPointError
  | ToolCallError
  | ShutdownError
  | ControlUnavailableError
  | ControlCallError;

/** Every code of this package. */
export type SessionErrorCode = SessionError['code'];

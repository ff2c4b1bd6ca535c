import type { CheckpointInfo } from '@holdfast/journal';
import type { RestorePlan, RestoreReceipt } from '@holdfast/restore';
import type { Ref } from '@holdfast/workspacestore';

import type { BoundaryResult } from './internal/checkpoint-runner.js';
import type { NoticeListener } from './notice.js';
import type { PreviewRestoreOptions, RestoreWorkspaceOptions } from './restore-options.js';
import type { ForkPoint } from './runtime-parts.js';
import type { Session } from './session.js';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** A checkpoint of a session, as a timeline shows it. */
export interface SessionCheckpoint extends CheckpointInfo {
  readonly ref: Ref;
}

/** A boundary of an application that runs its own loops. */
export type BoundaryKind = 'step-done' | 'turn-done' | 'idle';

export interface BoundaryOptions {
  readonly cause?: BoundaryCause | undefined;
}

/** What the boundary ended. What is missing gets a fresh name. */
export interface BoundaryCause {
  readonly turn?: string | undefined;
  readonly loop?: string | undefined;
  /** Number of the step in its turn, from 1. */
  readonly step?: number | undefined;
}

/**
 * A session with the rights of its owner. Hand `session` to loops, tools and user interfaces: it is another object, not
 * this one under a smaller type.
 */
export interface SessionController extends Session, AsyncDisposable {
  readonly session: Session;
  /**
   * Checkpoints the workspace and records it; the session must be idle. An abort has no effect once the snapshot is being
   * recorded. Success takes a recoverable fault away.
   * @throws WorkspaceNotConfiguredError, CheckpointError.
   */
  checkpointWorkspace(options?: CallOptions): Promise<Ref>;
  /**
   * Says what a restore would do; writes nothing.
   * @throws WorkspaceNotConfiguredError, WorkspaceRestoreError.
   */
  previewRestore(ref: Ref, options?: PreviewRestoreOptions): Promise<RestorePlan>;
  /**
   * Brings the workspace to `ref` and records it; the session must be idle. Point of no return: the strategy's commit.
   * @throws WorkspaceNotConfiguredError, WorkspaceRestoreError.
   */
  restoreWorkspace(ref: Ref, options?: RestoreWorkspaceOptions): Promise<RestoreReceipt>;
  /**
   * Takes files and conversation back to a turn, an event or a checkpoint, in one record of the journal.
   * @throws WorkspaceNotConfiguredError, SessionPointError, WorkspaceRestoreError.
   */
  rewindTo(point: string, options?: RestoreWorkspaceOptions): Promise<RestoreReceipt>;
  /**
   * Says what `rewindTo` would do to the files; writes nothing. Its plan can be given to `rewindTo`.
   * @throws WorkspaceNotConfiguredError, SessionPointError, WorkspaceRestoreError.
   */
  previewRewind(point: string, options?: PreviewRestoreOptions): Promise<RestorePlan>;
  /**
   * Takes the last restore or rewind back; doing it again takes that back. Unless `prune` is given, the directories and
   * links that the restore brought go too; those that somebody made since stay.
   * @throws WorkspaceNotConfiguredError, SessionPointError (`undo`), WorkspaceRestoreError.
   */
  undo(options?: RestoreWorkspaceOptions): Promise<RestoreReceipt>;
  /**
   * Says what `undo` would do; writes nothing. Its plan can be given to `undo`.
   * @throws WorkspaceNotConfiguredError, SessionPointError (`undo`), WorkspaceRestoreError.
   */
  previewUndo(options?: PreviewRestoreOptions): Promise<RestorePlan>;
  /**
   * Opens a new session that begins with the files of a checkpoint of this one and the conversation up to there.
   * @throws WorkspaceNotConfiguredError, SessionPointError.
   */
  fork(options?: ForkPoint): Promise<SessionController>;
  /** Records a boundary of an application that runs its own loops, and takes the checkpoint that the policy asks for. */
  boundary(kind: BoundaryKind, options?: BoundaryOptions): Promise<BoundaryResult>;
  /** The session's checkpoints in order. */
  checkpoints(options?: CallOptions): Promise<readonly SessionCheckpoint[]>;
  /** Calls `listener` with what happens in this process. */
  observe(listener: NoticeListener): Disposable;
  /**
   * Ends the session, once; concurrent callers share the result. An abort ends the wait, never the shutdown.
   * @throws ShutdownError when a phase failed; everything was let go all the same.
   */
  shutdown(options?: CallOptions): Promise<void>;
}

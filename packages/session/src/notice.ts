import type { CheckpointCause, CheckpointTrigger, EventFailure } from '@holdfast/journal';
import type { RestoreStep } from '@holdfast/restore';
import type { Ref, SnapshotProgress } from '@holdfast/workspacestore';

import type { SessionFault } from './fault.js';
import type { SessionPhase } from './lifecycle.js';

/** Something that happened in this process; not journalled. Durations are milliseconds. */
export type SessionNotice =
  | { readonly type: 'checkpoint-started'; readonly trigger: CheckpointTrigger }
  | {
      readonly type: 'checkpoint-progress';
      readonly trigger: CheckpointTrigger;
      readonly progress: SnapshotProgress;
    }
  | {
      readonly type: 'checkpoint-finished';
      readonly trigger: CheckpointTrigger;
      readonly ref: Ref;
      readonly cause: CheckpointCause | undefined;
      readonly durationMs: number;
      readonly filesRead: number;
      readonly bytesStored: number;
    }
  | {
      readonly type: 'checkpoint-failed';
      readonly trigger: CheckpointTrigger;
      readonly error: EventFailure;
      readonly durationMs: number;
    }
  | { readonly type: 'restore-started'; readonly restoreId: string; readonly ref: Ref }
  | { readonly type: 'restore-progress'; readonly restoreId: string; readonly step: RestoreStep }
  | {
      readonly type: 'restore-finished';
      readonly restoreId: string;
      readonly ref: Ref;
      readonly durationMs: number;
      readonly bytesWritten: number;
    }
  | {
      readonly type: 'restore-failed';
      readonly restoreId: string;
      readonly ref: Ref;
      readonly error: EventFailure;
      readonly durationMs: number;
    }
  | {
      /** Archives of the store were merged or left behind, in the background. */
      readonly type: 'maintenance-finished';
      readonly merged: number;
      readonly rebased: number;
      readonly durationMs: number;
    }
  | {
      /** The archives stay as they are; it is tried again after further checkpoints. */
      readonly type: 'maintenance-failed';
      readonly error: EventFailure;
      readonly durationMs: number;
    }
  | { readonly type: 'fault-changed'; readonly fault: SessionFault | undefined }
  | { readonly type: 'phase-changed'; readonly phase: SessionPhase };

/** Called at once, in order. What it throws is ignored. */
export type NoticeListener = (notice: SessionNotice) => void;

/** The boundaries at which checkpoints are taken. `manual`: only when the application asks. */
export type SnapshotTrigger = 'manual' | 'idle' | 'turn-done' | 'step-done';

/** `best-effort`: the work goes first. `required`: the checkpoint goes first. */
export type SnapshotPriority = 'best-effort' | 'required';

/** When checkpoints are taken and what they may hold up. */
export interface SnapshotPolicy {
  readonly trigger: SnapshotTrigger;
  readonly priority: SnapshotPriority;
  /** Milliseconds for one checkpoint, from its request to its event. */
  readonly timeout: number;
}

/** Milliseconds that a checkpoint may take unless the policy says otherwise. */
export const defaultSnapshotTimeout = 60_000;

/** Milliseconds that a boundary waits for a best-effort checkpoint to begin. */
export const bestEffortWait = 200;

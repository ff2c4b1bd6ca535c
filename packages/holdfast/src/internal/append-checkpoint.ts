import type {
  CheckpointCause,
  CheckpointConsistency,
  CheckpointTrigger,
  SessionJournal,
} from '@holdfast/journal';
import type { SnapshotResult, WorkspaceStore } from '@holdfast/workspacestore';

export interface CheckpointFacts {
  readonly trigger: CheckpointTrigger;
  readonly consistency: CheckpointConsistency;
  readonly cause?: CheckpointCause | undefined;
}

/**
 * Records a snapshot. Point of no return: the append; the snapshot is kept alive by its hold until then, and by the event
 * afterwards.
 */
export async function appendCheckpoint(
  journal: SessionJournal,
  store: WorkspaceStore,
  { ref, hold, stats, coverage }: SnapshotResult,
  { trigger, consistency, cause }: CheckpointFacts,
): Promise<void> {
  await journal.append({
    type: 'WorkspaceCheckpointed',
    body: { ref, hold, consistency, trigger, ...(cause === undefined ? {} : { cause }), stats, coverage },
  });
  store.release(hold);
}

import type {
  CheckpointCause,
  CheckpointConsistency,
  CheckpointStats,
  CheckpointTrigger,
  RestoreStartedBody,
  SessionStartedBody,
  WorkspaceCheckpointedBody,
  WorkspaceRestoredBody,
} from '../event-bodies.js';
import type { FoldInput } from '../fold.js';

/** What queries need of a record, kept in index records so that a query does not read the whole journal. A JSON value. */
export type Fact =
  | {
      readonly is: 'checkpoint';
      readonly seq: number;
      readonly id: string;
      readonly time: number;
      readonly ref: string;
      readonly trigger: CheckpointTrigger;
      readonly cause?: CheckpointCause | undefined;
      readonly consistency: CheckpointConsistency;
      readonly stats: CheckpointStats;
    }
  | {
      readonly is: 'restored';
      readonly seq: number;
      readonly id: string;
      readonly time: number;
      readonly ref: string;
    }
  | { readonly is: 'needed'; readonly seq: number; readonly refs: readonly string[] }
  | { readonly is: 'turn-started'; readonly seq: number; readonly turn: string }
  | { readonly is: 'turn-ended'; readonly seq: number; readonly turn: string };

/** Returns the fact that a record states, if it states one. */
export function factOf(record: FoldInput): Fact | undefined {
  const { seq, id, time } = record;
  switch (record.type) {
    case 'WorkspaceCheckpointed': {
      if (record.kind !== 'event') return undefined;
      const { ref, trigger, cause, consistency, stats } = record.body as WorkspaceCheckpointedBody;
      return { is: 'checkpoint', seq, id, time, ref, trigger, cause, consistency, stats };
    }
    case 'WorkspaceRestored': {
      if (record.kind !== 'event') return undefined;
      return { is: 'restored', seq, id, time, ref: (record.body as WorkspaceRestoredBody).ref };
    }
    case 'SessionStarted': {
      const { seed } = record.body as SessionStartedBody;
      return seed === undefined ? undefined : { is: 'needed', seq, refs: [seed] };
    }
    case 'restore-started': {
      const body = record.body as RestoreStartedBody;
      const refs = [body.ref, body.previousRef, body.safetyRef].filter((ref) => typeof ref === 'string');
      return { is: 'needed', seq, refs };
    }
    case 'TurnStarted':
      return { is: 'turn-started', seq, turn: (record.body as { turn: string }).turn };
    case 'TurnDone':
    case 'TurnFailed':
    case 'TurnInterrupted':
      return { is: 'turn-ended', seq, turn: (record.body as { turn: string }).turn };
    default:
      return undefined;
  }
}

/** Returns the refs that a fact names. */
export function refsOf(fact: Fact): readonly string[] {
  switch (fact.is) {
    case 'checkpoint':
    case 'restored':
      return [fact.ref];
    case 'needed':
      return fact.refs;
    case 'turn-started':
    case 'turn-ended':
      return [];
  }
}

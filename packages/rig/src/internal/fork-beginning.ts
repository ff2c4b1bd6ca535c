import { effectiveRanges, type JournalReading, type SessionEvent } from '@holdfast/journal';
import type { ForkOrigin } from '@holdfast/session';
import type { Ref } from '@holdfast/workspacestore';

/** What a fork takes from the session that it begins with. */
export interface ForkBeginning {
  readonly session: string;
  readonly ref: Ref;
  /** The last record that belongs to it. */
  readonly seq: number;
  /** The conversation that is in effect there. */
  readonly conversation: readonly SessionEvent[];
}

export async function beginningOf({ journal, ref, seq }: ForkOrigin): Promise<ForkBeginning> {
  return { session: journal.id, ref, seq, conversation: await conversationAt(journal, seq) };
}

/** Events that belong to a session's life or its files, not to what was said in it. */
const ownEvents: ReadonlySet<string> = new Set([
  'SessionStarted',
  'SessionRestored',
  'SessionStopped',
  'SessionActive',
  'SessionIdle',
  'LoopStarted',
  'LoopIdle',
  'WorkspaceCheckpointed',
  'WorkspaceCheckpointFailed',
  'WorkspaceRestored',
  'ConversationRewound',
]);

async function conversationAt(from: JournalReading, seq: number): Promise<readonly SessionEvent[]> {
  const ended = new Set<string>();
  const events: SessionEvent[] = [];
  for (const range of effectiveRanges(from.fold, seq)) {
    for await (const event of from.events(range)) {
      if (ownEvents.has(event.type)) continue;
      events.push(event);
      const { turn } = event.body as { turn?: unknown };
      if (event.type !== 'TurnStarted' && event.type !== 'StepDone' && typeof turn === 'string')
        ended.add(turn);
    }
  }
  return events.filter((event) => {
    const { turn } = event.body as { turn?: unknown };
    // A turn that had not ended there would be open in the fork for ever.
    return typeof turn !== 'string' || ended.has(turn);
  });
}

import {
  effectiveRanges,
  type JournalReading,
  type SessionEvent,
  type SessionJournal,
} from '@holdfast/journal';

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

/** Copies the conversation that is in effect at a record of one session into the journal of another. */
export async function copyConversation(from: JournalReading, seq: number, to: SessionJournal): Promise<void> {
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
  for (const event of events) {
    const { turn } = event.body as { turn?: unknown };
    // A turn that had not ended there would be open in the fork for ever.
    if (typeof turn === 'string' && !ended.has(turn)) continue;
    await to.appendCopy(event);
  }
}

import { JournalClosedError, type SessionEvent, type SessionJournal } from '@holdfast/journal';

import type { EventsOptions } from '../session.js';

/** Yields a session's events; following ends after the last one when the session does. */
export async function* readEvents(
  journal: SessionJournal,
  stopped: AbortSignal,
  options: EventsOptions,
): AsyncGenerator<SessionEvent, void, undefined> {
  const { follow = false, signal, loop } = options;
  let { from = 1 } = options;
  if (!follow) {
    yield* journal.events({ from, loop, signal });
    return;
  }
  const ends = signal === undefined ? stopped : AbortSignal.any([signal, stopped]);
  try {
    for await (const event of journal.follow({ from, loop, signal: ends })) {
      yield event;
      from = event.seq + 1;
    }
  } catch (error) {
    if (signal?.aborted === true || !stopped.aborted) throw error;
    yield* remaining(journal, from, loop);
  }
}

async function* remaining(
  journal: SessionJournal,
  from: number,
  loop: string | undefined,
): AsyncGenerator<SessionEvent, void, undefined> {
  try {
    if (from <= journal.tip) yield* journal.events({ from, loop });
  } catch (error) {
    if (!JournalClosedError.is(error)) throw error;
  }
}

import type { SessionEvent, SessionJournal } from '@holdfast/journal';

import type { EventsOptions } from '../session.js';

/** Yields a session's events; following ends quietly when the session does. */
export async function* readEvents(
  journal: SessionJournal,
  closing: AbortSignal,
  options: EventsOptions,
): AsyncGenerator<SessionEvent, void, undefined> {
  const { follow = false, signal, ...range } = options;
  if (!follow) {
    yield* journal.events({ ...range, signal });
    return;
  }
  const ends = signal === undefined ? closing : AbortSignal.any([signal, closing]);
  try {
    yield* journal.follow({ ...range, signal: ends });
  } catch (error) {
    if (signal?.aborted === true || !closing.aborted || error !== closing.reason) throw error;
  }
}

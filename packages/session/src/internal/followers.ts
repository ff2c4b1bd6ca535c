import { anySignal, type Clock } from '@holdfast/base';
import type { SessionEvent, SessionJournal } from '@holdfast/journal';

import type { EventsOptions } from '../session.js';
import { deferred } from './deferred.js';

/** Milliseconds that the end of a session waits for those who follow it to take its last event. */
const lastEventWait = 200;

/** Reads a session's events for others, and lets those who follow them see the last one before the journal closes. */
export class Followers {
  readonly #journal: SessionJournal;
  readonly #stopped = new AbortController();
  readonly #following = new Set<Promise<void>>();

  constructor(journal: SessionJournal) {
    this.#journal = journal;
  }

  /** Following ends after `SessionStopped`, or quietly when the session ends without it. */
  async *read(options: EventsOptions): AsyncGenerator<SessionEvent, void, undefined> {
    const { follow = false, from, loop, signal } = options;
    if (!follow) {
      yield* this.#journal.events({ from, loop, signal });
      return;
    }
    const ended = deferred<void>();
    this.#following.add(ended.promise);
    const ends = anySignal(signal, this.#stopped.signal) as AbortSignal;
    try {
      for await (const event of this.#journal.follow({ from, signal: ends })) {
        if (loop === undefined || event.loop === loop) yield event;
        if (event.type === 'SessionStopped' && event.epoch === this.#journal.epoch) return;
      }
    } catch (error) {
      if (signal?.aborted === true || !this.#stopped.signal.aborted) throw error;
    } finally {
      ended.resolve();
      this.#following.delete(ended.promise);
    }
  }

  /** Waits a moment for those who follow to come to the end, then ends them. */
  async end(clock: Clock): Promise<void> {
    const limit = deferred<void>();
    using _limit = clock.schedule(lastEventWait, limit.resolve);
    await Promise.race([Promise.allSettled([...this.#following]), limit.promise]);
    this.#stopped.abort(new Error('the session has ended'));
  }
}

import {
  type Appended,
  type EventInput,
  EventInvalidError,
  type PrivateInput,
  type SessionJournal,
} from '@holdfast/journal';

import type { FaultLatch } from '../fault.js';

/**
 * Appends events that the session's meaning rests on: a failure is a terminal fault, and the caller gets the error that
 * caused it. Appends take no signal: an event that was decided is written or the session stops.
 */
export class EventLog {
  readonly #journal: SessionJournal;
  readonly #faults: FaultLatch;

  constructor(journal: SessionJournal, faults: FaultLatch) {
    this.#journal = journal;
    this.#faults = faults;
  }

  async append<const Type extends string>(event: EventInput<Type>): Promise<Appended> {
    return await this.#orFault(async () => await this.#journal.append(event));
  }

  async appendPrivate<const Type extends string>(record: PrivateInput<Type>): Promise<Appended> {
    return await this.#orFault(async () => await this.#journal.appendPrivate(record));
  }

  /**
   * Checks an event that holds somebody else's data, so that a mistake in it is theirs and no fault of the session.
   * @throws EventInvalidError.
   */
  check<const Type extends string>(event: EventInput<Type>): void {
    this.#journal.prepare(event);
  }

  /**
   * Appends an event that nothing rests on; tells whether it is in the journal. After a terminal fault nothing is written
   * any more: the root may belong to somebody else.
   */
  async note<const Type extends string>(event: EventInput<Type>): Promise<boolean> {
    if (this.#faults.refusal('terminal') !== undefined) return false;
    try {
      await this.#journal.append(event);
      return true;
    } catch {
      // What could not be written for a reason that matters fails the next required append.
      return false;
    }
  }

  async #orFault<Result>(append: () => Promise<Result>): Promise<Result> {
    const refusal = this.#faults.refusal('terminal');
    if (refusal !== undefined) throw refusal;
    try {
      return await append();
    } catch (error) {
      if (!EventInvalidError.is(error)) this.#faults.terminal('append-failed', error);
      throw error;
    }
  }
}

import type { JsonValue } from '@holdfast/base';
import type { SessionEvent } from '@holdfast/journal';

import type { SessionState } from './lifecycle.js';
import type { Submission } from './loop.js';

export interface SubmitOptions {
  /** Id or name of the loop; default: the first primer. */
  readonly loop?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface InterruptOptions {
  /** Id of the loop; default: every loop. */
  readonly loop?: string | undefined;
  /** Shown in the event. */
  readonly reason?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface EventsOptions {
  /** First sequence, inclusive; default 1. */
  readonly from?: number | undefined;
  /** Only the events of this loop. */
  readonly loop?: string | undefined;
  /** `true`: goes on with new events until the signal or the end of the session; default `false`. */
  readonly follow?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A session as loops, tools and user interfaces get it: no rights over the workspace and none to shut it down. */
export interface Session {
  readonly id: string;
  /**
   * Gives a loop its next input; input for a loop that is in a turn is queued.
   * @throws SessionClosedError, SessionFaultedError, SessionPointError (`loop`).
   */
  submit(input: JsonValue, options?: SubmitOptions): Promise<Submission>;
  /** Interrupts running turns and waits until they have ended. Queued input stays queued. */
  interrupt(options?: InterruptOptions): Promise<void>;
  /** The journal's events in order. */
  events(options?: EventsOptions): AsyncIterable<SessionEvent>;
  state(): SessionState;
}

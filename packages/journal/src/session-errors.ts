import { HoldfastError, type JsonValue, quote, textOf } from '@holdfast/base';

export interface SessionErrorOptions {
  readonly cause?: unknown;
}

/** A session of this id exists already. */
export class SessionExistsError extends HoldfastError {
  static override readonly code = 'JOURNAL_SESSION_EXISTS';
  declare readonly code: 'JOURNAL_SESSION_EXISTS';
  declare readonly sessionId: string;

  constructor(sessionId: string) {
    super(`session ${quote(sessionId)} exists already: open it, or create one with another id`, {
      fields: { sessionId },
      effect: 'none',
    });
  }
}

/** There is no session of this id. */
export class SessionNotFoundError extends HoldfastError {
  static override readonly code = 'JOURNAL_SESSION_NOT_FOUND';
  declare readonly code: 'JOURNAL_SESSION_NOT_FOUND';
  declare readonly sessionId: string;

  constructor(sessionId: string) {
    super(`session ${quote(sessionId)} does not exist: create it, or list the sessions there are`, {
      fields: { sessionId },
      effect: 'none',
    });
  }
}

/** Several sessions begin with the given characters. */
export class AmbiguousSessionIdError extends HoldfastError {
  static override readonly code = 'JOURNAL_AMBIGUOUS_SESSION_ID';
  declare readonly code: 'JOURNAL_AMBIGUOUS_SESSION_ID';
  declare readonly prefix: string;
  /** The first of them, sorted; at most five. */
  declare readonly matches: readonly string[];

  constructor(prefix: string, matches: readonly string[]) {
    super(
      `session id ${quote(prefix)} is the beginning of several (${matches.join(', ')}); give more characters`,
      { fields: { prefix, matches }, effect: 'none' },
    );
  }
}

/** Another owner has opened the session since: this journal can never append again. */
export class JournalFencedError extends HoldfastError {
  static override readonly code = 'JOURNAL_FENCED';
  declare readonly code: 'JOURNAL_FENCED';
  declare readonly sessionId: string;
  /** The epoch of this journal's lease. */
  declare readonly epoch: number;
  /** The epoch of the owner that came after it. */
  declare readonly fencedBy: number;

  constructor(sessionId: string, epoch: number, fencedBy: number, options: SessionErrorOptions = {}) {
    super(
      `session ${quote(sessionId)}: epoch ${String(epoch)} was fenced by epoch ${String(fencedBy)}; nothing of this owner is written any more`,
      { cause: options.cause, fields: { sessionId, epoch, fencedBy }, effect: 'none' },
    );
  }
}

/**
 * The lease stands, but its epoch is not above the journal's highest fence: the leases lost their counter, or belong to
 * another place, under which a living owner is not seen.
 */
export class JournalEpochError extends HoldfastError {
  static override readonly code = 'JOURNAL_EPOCH';
  declare readonly code: 'JOURNAL_EPOCH';
  declare readonly sessionId: string;
  declare readonly leaseEpoch: number;
  declare readonly fenceEpoch: number;
  /** The ledger is open to one process at a time, and this one has it: no other owner can live. */
  declare readonly alone: boolean;

  constructor(sessionId: string, leaseEpoch: number, fenceEpoch: number, alone: boolean) {
    super(
      `session ${quote(sessionId)}: lease epoch ${String(leaseEpoch)} is not above fence epoch ${String(fenceEpoch)}; give every owner of this journal the same leases, or, when they lost their counter and no other owner lives, open it with adopt: true`,
      { fields: { sessionId, leaseEpoch, fenceEpoch, alone }, effect: 'none' },
    );
  }
}

/** The journal or the store it came from was closed. */
export class JournalClosedError extends HoldfastError {
  static override readonly code = 'JOURNAL_CLOSED';
  declare readonly code: 'JOURNAL_CLOSED';
  /** What was closed. */
  declare readonly subject: 'session-journal' | 'session-view' | 'session-store';

  constructor(subject: 'session-journal' | 'session-view' | 'session-store') {
    super(`the ${subject.replace('-', ' ')} is closed: open it again to use it`, {
      fields: { subject },
      effect: 'none',
    });
  }
}

/** The id was used before with other content. */
export class IdempotencyCollisionError extends HoldfastError {
  static override readonly code = 'JOURNAL_IDEMPOTENCY_COLLISION';
  declare readonly code: 'JOURNAL_IDEMPOTENCY_COLLISION';
  declare readonly sessionId: string;
  declare readonly recordId: string;
  /** Where the first record with this id is. */
  declare readonly seq: number;

  constructor(sessionId: string, recordId: string, seq: number) {
    super(
      `session ${quote(sessionId)}: record id ${quote(recordId)} was used for other content at record ${String(seq)}; retries must repeat type and body, new facts need a new id`,
      { fields: { sessionId, recordId, seq }, effect: 'none' },
    );
  }
}

/** What is wrong with an event, in kebab case. */
export type EventRule =
  | 'type-name'
  | 'unknown-catalogue-type'
  | 'id'
  | 'time'
  | 'loop'
  | 'not-json'
  | 'too-large'
  | 'field-missing'
  | 'field-type'
  | 'field-value'
  | 'field-unknown'
  | 'ref'
  | 'restore-open'
  | 'restore-not-open';

/** An event does not fit its schema; nothing was written. */
export class EventInvalidError extends HoldfastError {
  static override readonly code = 'JOURNAL_EVENT_INVALID';
  declare readonly code: 'JOURNAL_EVENT_INVALID';
  declare readonly eventType: string;
  declare readonly rule: EventRule;
  /** Where in the event, for example `body.cause.turn`. */
  declare readonly path: string;

  constructor(
    eventType: unknown,
    rule: EventRule,
    path: string,
    detail: string,
    options: SessionErrorOptions = {},
  ) {
    const type = textOf(eventType).slice(0, 200);
    super(`event ${quote(type)} is invalid at ${path} (${rule}): ${detail}`, {
      cause: options.cause,
      fields: { eventType: type, rule, path } satisfies Record<string, JsonValue>,
      effect: 'none',
    });
  }
}

/** A record was written by a newer version of Holdfast. */
export class JournalVersionError extends HoldfastError {
  static override readonly code = 'JOURNAL_VERSION';
  declare readonly code: 'JOURNAL_VERSION';
  declare readonly sessionId: string;
  declare readonly seq: number;
  /** What was found: a format version or a record kind. */
  declare readonly found: string;

  constructor(sessionId: string, seq: number, found: string) {
    super(
      `session ${quote(sessionId)}: record ${String(seq)} has ${found}, which this version does not know; use a newer one`,
      { fields: { sessionId, seq, found } },
    );
  }
}

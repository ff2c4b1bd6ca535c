import { HoldfastError } from '@holdfast/base';

/** Why a server cannot be used as it is. */
export type NatsUnsuitableKind =
  /** JetStream is off, for the server or for the account. */
  | 'no-jetstream'
  /** The server is older than what was tested. */
  | 'server-too-old'
  /** What the server acknowledges is less durable than what was asked for, or nobody can tell. */
  | 'not-durable'
  /** A stream of that name is there, and is made for something else. */
  | 'stream-mismatch';

const advice: Readonly<Record<NatsUnsuitableKind, string>> = {
  'no-jetstream': 'turn JetStream on for the server and for this account',
  'server-too-old': 'use nats-server 2.9 or newer, and 2.10 or newer for synced writes',
  'not-durable':
    'set sync_interval: always on every server and name their monitoring addresses, or pass the weaker acknowledge that you accept',
  'stream-mismatch': 'choose another prefix, or delete the stream if nothing in it is needed',
};

/** The server cannot be used as it is; nothing was changed. */
export class NatsUnsuitableError extends HoldfastError {
  static override readonly code = 'NATS_UNSUITABLE';
  declare readonly code: 'NATS_UNSUITABLE';
  declare readonly kind: NatsUnsuitableKind;
  /** What was found, in a few words. */
  declare readonly found: string;

  constructor(kind: NatsUnsuitableKind, found: string) {
    super(`this NATS server cannot be used (${found}): ${advice[kind]}`, {
      fields: { kind, found },
      effect: 'none',
      retryable: false,
    });
  }
}

export interface NatsRequestFacts {
  /** The code of JetStream (`10077`), where the server gave one. */
  readonly apiCode: number | undefined;
  /** `true`: the request did not take effect and will not. `false`: nobody knows. */
  readonly definite: boolean;
  readonly retryable: boolean;
  /** What the server or the client said, without credentials. */
  readonly said: string;
}

/** A request failed. Made from the client's own error, which is not its cause: it may show addresses with credentials. */
export class NatsRequestError extends HoldfastError {
  static override readonly code = 'NATS_REQUEST';
  declare readonly code: 'NATS_REQUEST';
  declare readonly apiCode: number | undefined;
  declare readonly definite: boolean;
  declare readonly said: string;

  constructor(facts: NatsRequestFacts) {
    super(`NATS did not carry out a request (${facts.apiCode ?? 'no answer'}): ${facts.said}`, {
      fields: { apiCode: facts.apiCode, definite: facts.definite, said: facts.said },
      effect: facts.definite ? 'none' : 'unknown',
      retryable: facts.retryable,
    });
  }
}

/** Every error of this package; `switch (error.code)` is exhaustive. */
export type NatsError = NatsUnsuitableError | NatsRequestError;

export type NatsErrorCode = NatsError['code'];

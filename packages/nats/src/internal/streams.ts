import type { JetStreamClient, JetStreamManager, StreamConfig } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';

import { NatsUnsuitableError } from '../errors.js';
import { isAbsent, isConflict, requestFailure } from './request-failure.js';

/** A stored message: its sequence in the stream, and its bytes. */
export interface StoredMessage {
  readonly seq: number;
  readonly data: Uint8Array;
}

type StreamSettings = Partial<StreamConfig> & { readonly name: string };

/**
 * The requests that everything is made of. All go to the leader of the stream: what it answers is what was stored, never
 * what a replica has so far.
 */
export class Streams {
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #timeout: number;

  constructor(
    connection: NatsConnection,
    client: JetStreamClient,
    manager: JetStreamManager,
    timeoutMilliseconds: number,
  ) {
    this.#connection = connection;
    this.#client = client;
    this.#manager = manager;
    this.#timeout = timeoutMilliseconds;
  }

  /**
   * Stores a message if the last one of its subject has the sequence `expected`, 0 for none. The new sequence, or
   * `undefined` when another one is the last.
   * @throws NatsRequestError with what is known of the outcome.
   */
  async publish(subject: string, data: Uint8Array, expected: number): Promise<number | undefined> {
    try {
      const ack = await this.#client.publish(subject, data, {
        expect: { lastSubjectSequence: expected },
        timeout: this.#timeout,
      });
      return ack.seq;
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw requestFailure(error);
    }
  }

  /** The last message of a subject. */
  async last(stream: string, subject: string): Promise<StoredMessage | undefined> {
    return await this.#get(stream, { last_by_subj: subject });
  }

  /** The first message of a subject whose sequence is at least `seq`. */
  async next(stream: string, subject: string, seq: number): Promise<StoredMessage | undefined> {
    return await this.#get(stream, { next_by_subj: subject, seq });
  }

  async at(stream: string, seq: number): Promise<StoredMessage | undefined> {
    return await this.#get(stream, { seq });
  }

  /** Removes every message of the subjects that match. Repeated once when the answer was lost. */
  async purge(stream: string, filter: string): Promise<void> {
    const purge = async (): Promise<void> => {
      await this.#manager.streams.purge(stream, { filter });
    };
    try {
      await purge().catch(async (error: unknown) => {
        if (requestFailure(error).definite) throw error;
        await purge();
      });
    } catch (error) {
      throw requestFailure(error);
    }
  }

  /** Every subject that matches and has messages. */
  async subjects(stream: string, filter: string): Promise<string[]> {
    try {
      const info = await this.#manager.streams.info(stream, { subjects_filter: filter });
      return Object.keys(info.state.subjects ?? {});
    } catch (error) {
      throw requestFailure(error);
    }
  }

  /** Makes a stream, or finds it as it should be; tells how many replicas it has. */
  async ensure(wanted: StreamSettings): Promise<number> {
    try {
      const { config } = await this.#manager.streams.info(wanted.name).catch(async (error: unknown) => {
        if (!isMissingStream(error)) throw error;
        // Adding one that somebody else has just added in the same way succeeds.
        return await this.#manager.streams.add(wanted);
      });
      for (const [key, value] of Object.entries(wanted)) {
        const found = JSON.stringify(config[key as keyof StreamConfig]);
        const expected = JSON.stringify(value);
        if (key === 'num_replicas' || found === expected) continue;
        throw new NatsUnsuitableError(
          'stream-mismatch',
          `stream ${wanted.name} has ${key} ${found}, not ${expected}`,
        );
      }
      return config.num_replicas;
    } catch (error) {
      throw NatsUnsuitableError.is(error) ? error : requestFailure(error);
    }
  }

  /** Calls `listener` for what is sent to a subject, by anybody, before or while it is stored. */
  async hear(subject: string, listener: (data: Uint8Array) => void): Promise<Disposable> {
    try {
      const subscription = this.#connection.subscribe(subject, {
        callback: (_error, message) => {
          listener(message.data);
        },
      });
      // From when this is answered, nothing is missed.
      await this.#connection.flush();
      return {
        [Symbol.dispose]: () => {
          subscription.unsubscribe();
        },
      };
    } catch (error) {
      throw requestFailure(error);
    }
  }

  async #get(
    stream: string,
    query: { last_by_subj: string } | { next_by_subj: string; seq: number } | { seq: number },
  ): Promise<StoredMessage | undefined> {
    try {
      const message = await this.#manager.streams.getMessage(stream, query);
      return message === null ? undefined : { seq: message.seq, data: message.data };
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw requestFailure(error);
    }
  }
}

function isMissingStream(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 10_059;
}

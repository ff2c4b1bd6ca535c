import { type Clock, type Hints } from '@holdfast/base';

import type { PostgresListener } from '../query.js';

export interface NewsOptions {
  readonly channel: string;
  readonly clock: Clock;
  /** Opens a connection of its own; called again when one ends. */
  readonly listen: () => PostgresListener;
  readonly ledgers: Hints;
  readonly leases: Hints;
  /** A lease changed hands; without a name, any may have. */
  readonly onLease: (name?: string) => void;
}

const pauseMilliseconds = 1_000;

/**
 * Hears what commits announce. Everything works without: whoever waits looks by itself after a while. When the connection
 * ends, all are woken, because news may have been lost, and another one is opened.
 */
export class News implements AsyncDisposable {
  readonly #options: NewsOptions;
  readonly #ended = new AbortController();
  readonly #running: Promise<void>;
  #client: PostgresListener | undefined;

  constructor(options: NewsOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#client?.end().catch(() => undefined);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, ledgers, leases } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.#hear().catch(() => undefined);
      if (signal.aborted) return;
      ledgers.tell();
      leases.tell();
      await clock.sleep(pauseMilliseconds, { signal }).catch(() => undefined);
    }
  }

  /** Resolves when the connection has ended. */
  async #hear(): Promise<void> {
    const { channel, listen } = this.#options;
    const client = listen();
    this.#client = client;
    try {
      await new Promise<void>((resolve, reject) => {
        client.on('error', resolve);
        client.on('end', resolve);
        client.on('notification', (message) => {
          if (message.channel === channel) this.#tell(message.payload ?? '');
        });
        (async () => {
          await client.connect();
          await client.query(`listen ${channel}`);
          // What was announced before the listening began was not heard.
          this.#options.ledgers.tell();
          this.#options.leases.tell();
          this.#options.onLease();
        })().catch(reject);
      });
    } finally {
      this.#client = undefined;
      await client.end().catch(() => undefined);
    }
  }

  #tell(payload: string): void {
    const { ledgers, leases, onLease } = this.#options;
    const name = payload.slice(2);
    if (payload.startsWith('j:')) ledgers.tell(name);
    if (!payload.startsWith('l:')) return;
    leases.tell(name);
    onLease(name);
  }
}

import type { Clock } from '@holdfast/base';
import type { Dir, File, WholeSync } from '@holdfast/durable';

/** Keeps a bounded number of syncs under way; the first failure is thrown by the next call. */
export class SyncPool {
  readonly #limit: number;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(limit = 16) {
    this.#limit = limit;
  }

  /** Starts a sync, waiting for a place first. */
  async add(start: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#limit) await Promise.race(this.#running);
    this.#throwFailure();
    const running: Promise<void> = start()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  /** Waits for every sync. */
  async finish(): Promise<void> {
    await Promise.all(this.#running);
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/** Syncs files and directories one by one, or all of them at the end with one whole sync when there are many. */
export class ManySyncs {
  readonly #whole: WholeSync | undefined;
  readonly #pool = new SyncPool();

  constructor(expected: number, wholeSync: WholeSync | undefined) {
    this.#whole = wholeSync !== undefined && expected >= wholeSync.from ? wholeSync : undefined;
  }

  /** Whether one sync at the end stands for all. */
  get atOnce(): boolean {
    return this.#whole !== undefined;
  }

  async add(node: Dir | File): Promise<void> {
    if (this.#whole === undefined) await this.#pool.add(() => node.syncLater());
  }

  /** Waits for the syncs that are under way; what failed otherwise has no use for more. */
  async drain(): Promise<void> {
    await this.#pool.finish();
  }

  /** Everything that was added is durable when this resolves. */
  async finish(): Promise<void> {
    await this.drain();
    await this.#whole?.sync();
  }
}

const quickMilliseconds = 0.5;
const syncsUntilNextTry = 32;

/**
 * Syncs many nodes of which most usually are on the disk already. Then a blocking call returns at once and costs a
 * twentieth of one that goes through another thread; as soon as one takes long the next ones go there, side by side.
 */
export class QuickSyncs {
  readonly #clock: Clock;
  readonly #pool = new SyncPool();
  #later = 0;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  async add(node: Dir | File): Promise<void> {
    if (this.#later > 0) {
      this.#later -= 1;
      await this.#pool.add(() => node.syncLater());
      return;
    }
    const started = this.#clock.monotonic();
    node.sync();
    if (this.#clock.monotonic() - started > quickMilliseconds) this.#later = syncsUntilNextTry;
  }

  async finish(): Promise<void> {
    await this.#pool.finish();
  }
}

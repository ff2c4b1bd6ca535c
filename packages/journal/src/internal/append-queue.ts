import { onAbort, throwIfAborted } from '@holdfast/base';

/** What became of one item. */
export type Outcome<O> = { readonly value: O } | { readonly error: unknown };

interface Waiting<I, O> {
  /** Set when the item is ready to be committed. */
  item: I | undefined;
  state: 'preparing' | 'ready' | 'gone';
  readonly finish: (outcome: Outcome<O>) => void;
}

/**
 * Commits items in the order in which they were submitted, as many at once as are ready, one commit at a time. An item
 * leaves the queue without effect while it waits; once its commit began, its outcome is awaited.
 */
export class AppendQueue<I, O> {
  readonly #commit: (items: readonly I[]) => Promise<readonly Outcome<O>[]>;
  readonly #weigh: (item: I) => number;
  readonly #waiting: Waiting<I, O>[] = [];
  #tasks: (() => Promise<void>)[] = [];
  #working = false;
  readonly #watchers: (() => void)[] = [];

  /** @param weigh bytes of an item; a commit takes items up to `maxCommitBytes`, and at least one. */
  constructor(commit: (items: readonly I[]) => Promise<readonly Outcome<O>[]>, weigh: (item: I) => number) {
    this.#commit = commit;
    this.#weigh = weigh;
  }

  /** Takes a place now, prepares, and resolves with what the commit says. */
  async submit(prepare: () => Promise<I>, signal?: AbortSignal): Promise<O> {
    throwIfAborted(signal);
    return await new Promise<O>((resolve, reject) => {
      const waiting: Waiting<I, O> = {
        item: undefined,
        state: 'preparing',
        finish: (outcome) => {
          subscription[Symbol.dispose]();
          if ('error' in outcome) reject(outcome.error);
          else resolve(outcome.value);
        },
      };
      const leave = (error: unknown): void => {
        const place = this.#waiting.indexOf(waiting);
        if (place < 0) return;
        this.#waiting.splice(place, 1);
        waiting.state = 'gone';
        waiting.finish({ error });
        this.#drain();
      };
      this.#waiting.push(waiting);
      const subscription = onAbort(signal, leave);
      prepare().then((item) => {
        if (waiting.state === 'gone') return;
        waiting.item = item;
        waiting.state = 'ready';
        this.#drain();
      }, leave);
    });
  }

  /** Runs `task` between two commits. */
  async run(task: () => Promise<void>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#tasks.push(async () => {
        await task().then(resolve, reject);
      });
      this.#drain();
    });
  }

  /** Resolves when everything that was submitted has an outcome. */
  async idle(): Promise<void> {
    while (this.#working || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#watchers.push(resolve);
      });
    }
  }

  #drain(): void {
    if (this.#working) return;
    this.#working = true;
    // The commit's failures are outcomes and the tasks' failures belong to their callers; nothing is left to reject.
    this.#work().catch(() => undefined);
  }

  async #work(): Promise<void> {
    // Callers in the same turn of the event loop share one commit.
    await Promise.resolve();
    for (;;) {
      const tasks = this.#tasks;
      this.#tasks = [];
      for (const task of tasks) await task();
      const batch = this.#take();
      if (batch.length === 0) {
        if (this.#tasks.length > 0) continue;
        this.#working = false;
        for (const watcher of this.#watchers.splice(0)) watcher();
        return;
      }
      const outcomes = await this.#outcomes(batch);
      for (const [index, waiting] of batch.entries()) waiting.finish(outcomes[index] as Outcome<O>);
    }
  }

  async #outcomes(batch: readonly Waiting<I, O>[]): Promise<readonly Outcome<O>[]> {
    try {
      return await this.#commit(batch.map((waiting) => waiting.item as I));
    } catch (error) {
      return batch.map(() => ({ error }));
    }
  }

  #take(): Waiting<I, O>[] {
    const batch: Waiting<I, O>[] = [];
    let bytes = 0;
    for (const waiting of this.#waiting) {
      if (waiting.state !== 'ready' || batch.length === maxCommitItems) break;
      bytes += this.#weigh(waiting.item as I);
      if (batch.length > 0 && bytes > maxCommitBytes) break;
      batch.push(waiting);
    }
    this.#waiting.splice(0, batch.length);
    return batch;
  }
}

const maxCommitItems = 256;
const maxCommitBytes = 2 * 1_048_576;

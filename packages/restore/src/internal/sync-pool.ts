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

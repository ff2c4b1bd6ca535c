/**
 * Whether something was closed, and whom to tell. An `AbortSignal` would do, but Node warns about more than ten listeners
 * on one, and a leaser may well have more calls under way.
 */
export class Closing {
  readonly #listeners = new Set<(reason: unknown) => void>();
  #reason: { readonly error: unknown } | undefined;

  get isClosed(): boolean {
    return this.#reason !== undefined;
  }

  throwIfClosed(): void {
    if (this.#reason !== undefined) throw this.#reason.error;
  }

  /** Calls `listener` when `close` is called, at once when it was; disposing stops listening. */
  onClose(listener: (reason: unknown) => void): Disposable {
    if (this.#reason !== undefined) listener(this.#reason.error);
    else this.#listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
      },
    };
  }

  /** The first call decides the reason and tells everybody. */
  close(reason: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = { error: reason };
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener(reason);
  }
}

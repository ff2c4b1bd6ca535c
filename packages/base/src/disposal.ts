/**
 * A stack of things to release, last first. Node 20 has the disposal symbols but no `AsyncDisposableStack`; this is the
 * part of it we use. Release runs to the end whatever fails; one failure is rethrown as it is, several as one
 * `AggregateError` in order of occurrence.
 */
export class DisposalStack implements AsyncDisposable {
  #entries: (() => unknown)[] = [];
  #closing: Promise<void> | undefined;

  /** Adds a resource and returns it. `undefined` is accepted and ignored, as `using` does. */
  use<T extends AsyncDisposable | Disposable | undefined>(resource: T): T {
    if (resource !== undefined) {
      this.defer(async () => {
        if (Symbol.asyncDispose in resource) await resource[Symbol.asyncDispose]();
        else resource[Symbol.dispose]();
      });
    }
    return resource;
  }

  /** Adds a release step. After the stack was closed this throws: the step would never run. */
  defer(release: () => unknown): void {
    if (this.#closing !== undefined) throw new TypeError('defer: this disposal stack is already closed');
    this.#entries.push(release);
  }

  /** Moves every step to a new stack; this one is empty afterwards. Use it when a construction has succeeded. */
  move(): DisposalStack {
    const moved = new DisposalStack();
    moved.#entries = this.#entries;
    this.#entries = [];
    return moved;
  }

  /** Releases everything, last first. Idempotent; concurrent calls share one result. */
  close(): Promise<void> {
    this.#closing ??= this.#release();
    return this.#closing;
  }

  async #release(): Promise<void> {
    const failures: unknown[] = [];
    for (let entry = this.#entries.pop(); entry !== undefined; entry = this.#entries.pop()) {
      try {
        await entry();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'several resources failed to close');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

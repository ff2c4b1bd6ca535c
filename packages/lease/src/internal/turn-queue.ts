import { abandonOnAbort } from '@holdfast/base';

/** Lets one caller at a time through per key, in order of arrival. A caller that gives up leaves the line. */
export class TurnQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `operation` when everybody who came before for `key` has finished; an abort rejects with its reason. */
  async run<T>(key: string, signal: AbortSignal, operation: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const { promise: finished, resolve: finish } = deferred();
    // Whoever comes next waits for this caller and for everybody before it, even if this one gives up early.
    const tail = before.then(async () => await finished);
    this.#tails.set(key, tail);
    try {
      await abandonOnAbort(signal, before);
      return await operation();
    } finally {
      finish();
      if (this.#tails.get(key) === tail) this.#forgetWhenDone(key, tail);
    }
  }

  #forgetWhenDone(key: string, tail: Promise<void>): void {
    const forget = (): void => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
    tail.then(forget, forget);
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

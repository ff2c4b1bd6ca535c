/** Throws the signal's own reason when it is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw signal.reason;
}

/**
 * Runs `operation` and makes its abort uniform: when the signal is aborted and the operation fails with the platform's
 * own abort error (which carries the reason only as its cause, or not at all), the signal's reason is thrown instead.
 * Other failures pass unchanged.
 */
export async function uniformAbort<T>(
  signal: AbortSignal | undefined,
  operation: () => Promise<T>,
): Promise<T> {
  throwIfAborted(signal);
  try {
    return await operation();
  } catch (error) {
    if (signal?.aborted === true && isPlatformAbort(error, signal)) throw signal.reason;
    throw error;
  }
}

function isPlatformAbort(error: unknown, signal: AbortSignal): boolean {
  if (error === signal.reason) return true;
  if (typeof error !== 'object' || error === null) return false;
  const { name, code } = error as { name?: unknown; code?: unknown };
  return name === 'AbortError' || code === 'ABORT_ERR';
}

/** Calls `listener` once when the signal aborts (at once when it already is); disposing stops listening. */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: unknown) => void): Disposable {
  if (signal === undefined) return { [Symbol.dispose]: () => undefined };
  if (signal.aborted) {
    listener(signal.reason);
    return { [Symbol.dispose]: () => undefined };
  }
  const handler = (): void => {
    listener(signal.reason);
  };
  signal.addEventListener('abort', handler, { once: true });
  return {
    [Symbol.dispose]: () => {
      signal.removeEventListener('abort', handler);
    },
  };
}

/**
 * Waits for `promise` or the abort, whichever is first; an abort rejects with the signal's reason.
 * This abandons the wait, not the work: use it only where the work is owned and joined by somebody else.
 */
export async function abandonOnAbort<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  if (signal === undefined) return await promise;
  if (signal.aborted) {
    promise.catch(() => undefined);
    throw signal.reason;
  }
  return await new Promise<T>((resolve, reject) => {
    const subscription = onAbort(signal, reject);
    promise.then(resolve, reject).finally(() => {
      subscription[Symbol.dispose]();
    });
  });
}

/** Joins the given signals into one that aborts with the reason of the first; `undefined` members are left out. */
export function anySignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal | undefined {
  const present = signals.filter((signal) => signal !== undefined);
  return present.length <= 1 ? present[0] : AbortSignal.any(present);
}

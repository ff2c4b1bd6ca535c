import { onAbort } from '@holdfast/base';

/**
 * One running call. Its signal aborts when the caller's does (same reason) or when the store is closed. One controller
 * per call instead of `AbortSignal.any`: that one keeps every derived signal alive as long as a long-lived source.
 */
export interface Operation extends Disposable {
  readonly signal: AbortSignal;
  cancel(reason: unknown): void;
  /** Resolves when the operation was disposed. */
  readonly ended: Promise<void>;
}

export function startOperation(callerSignal: AbortSignal | undefined, running: Set<Operation>): Operation {
  const controller = new AbortController();
  const subscription = onAbort(callerSignal, (reason) => {
    controller.abort(reason);
  });
  let finish: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const operation: Operation = {
    signal: controller.signal,
    ended,
    cancel: (reason) => {
      controller.abort(reason);
    },
    [Symbol.dispose]: () => {
      subscription[Symbol.dispose]();
      running.delete(operation);
      finish();
    },
  };
  running.add(operation);
  return operation;
}

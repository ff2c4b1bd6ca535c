import { onAbort } from '@holdfast/base';

import { type FaultKind, type FaultReason, SessionFaultedError } from './errors.js';
import { deferred } from './internal/deferred.js';

/** What is wrong with a session. */
export interface SessionFault {
  readonly kind: FaultKind;
  readonly reason: FaultReason;
  readonly cause: unknown;
}

/**
 * Remembers the fault of a session. The first terminal fault wins for good; a recoverable one is replaced by it and
 * goes when a manual checkpoint succeeds. Refusals all carry the same cause, so chains do not grow.
 */
export class FaultLatch {
  readonly #sessionId: string;
  readonly #terminal = new AbortController();
  readonly #listeners = new Set<() => void>();
  #fault: SessionFault | undefined;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  get fault(): SessionFault | undefined {
    return this.#fault;
  }

  /** Aborted with a `SessionFaultedError` at the first terminal fault. */
  get terminalSignal(): AbortSignal {
    return this.#terminal.signal;
  }

  terminal(reason: FaultReason, cause: unknown): void {
    if (this.#fault?.kind === 'terminal') return;
    this.#fault = { kind: 'terminal', reason, cause };
    this.#terminal.abort(this.#error(this.#fault));
    this.#changed();
  }

  recoverable(reason: FaultReason, cause: unknown): void {
    if (this.#fault !== undefined) return;
    this.#fault = { kind: 'recoverable', reason, cause };
    this.#changed();
  }

  /** Takes a recoverable fault away. */
  recover(): void {
    if (this.#fault?.kind !== 'recoverable') return;
    this.#fault = undefined;
    this.#changed();
  }

  /** The error for a call that this fault forbids; `undefined` when there is no fault, or none of `kinds`. */
  refusal(kinds: 'any' | 'terminal' = 'any'): SessionFaultedError | undefined {
    const fault = this.#fault;
    if (fault === undefined || (kinds === 'terminal' && fault.kind !== 'terminal')) return undefined;
    return this.#error(fault);
  }

  /**
   * Waits while the session has a recoverable fault.
   * @throws SessionFaultedError at once when the fault is terminal or becomes so.
   */
  async recovered(signal: AbortSignal): Promise<void> {
    while (this.#fault?.kind === 'recoverable') {
      const changed = deferred<void>();
      using _listening = this.onChange(() => {
        changed.resolve();
      });
      using _abort = onAbort(signal, changed.reject);
      await changed.promise;
    }
    const refusal = this.refusal('terminal');
    if (refusal !== undefined) throw refusal;
  }

  /** Calls `listener` after every change. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
      },
    };
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  #error(fault: SessionFault): SessionFaultedError {
    return new SessionFaultedError(this.#sessionId, fault.kind, fault.reason, fault.cause);
  }
}

/** What can go wrong between a client and a backend, whatever the backend is. */
export interface BackendFaultKind {
  readonly kind: BackendFault;
  readonly what: string;
  /** `true`: the client is told something that is not so. Contract suites must notice a driver that does it always. */
  readonly lies: boolean;
}

export type BackendFault =
  | 'error-before'
  | 'error-after'
  | 'timeout'
  | 'twice'
  | 'short-read'
  | 'short-write'
  | 'io-error'
  | 'sync-error'
  | 'corrupt-read'
  | 'stale-read'
  | 'lagging-list'
  | 'disordered-list'
  | 'dropped-connection'
  | 'throttled'
  | 'revoked'
  | 'lost-acknowledged'
  | 'clock-jump'
  | 'condition-ignored';

/** The eighteen kinds, in the order in which `docs/reliability.md` explains them. */
export const backendFaults: readonly BackendFaultKind[] = Object.freeze([
  { kind: 'error-before', what: 'fails, and nothing happened', lies: false },
  { kind: 'error-after', what: 'happened, and the reply was lost', lies: false },
  { kind: 'timeout', what: 'the reply was lost, and it happens later', lies: false },
  { kind: 'twice', what: 'something on the way repeats it', lies: false },
  { kind: 'short-read', what: 'a read ends early without an error', lies: true },
  { kind: 'short-write', what: 'a part was written, then the disk was full', lies: false },
  { kind: 'io-error', what: 'the disk fails', lies: false },
  { kind: 'sync-error', what: 'making it durable failed once; it may be there', lies: false },
  { kind: 'corrupt-read', what: 'a bit of what is read differs', lies: true },
  { kind: 'stale-read', what: 'the state before the last change is read', lies: true },
  { kind: 'lagging-list', what: 'a list misses what is new and shows what was deleted', lies: true },
  { kind: 'disordered-list', what: 'a list is out of order', lies: true },
  { kind: 'dropped-connection', what: 'a stream fails half-way', lies: false },
  { kind: 'throttled', what: 'the backend asks for patience', lies: false },
  { kind: 'revoked', what: 'the right to do it was taken away', lies: false },
  { kind: 'lost-acknowledged', what: 'acknowledged, and gone', lies: true },
  { kind: 'clock-jump', what: "the backend's clock jumps", lies: false },
  { kind: 'condition-ignored', what: 'a condition is ignored: what is taken is given again', lies: true },
]);

/** One fault as data: the same plan makes the same failures, so a plan that found something is a regression test. */
export interface PlannedFault<Operation extends string = string> {
  readonly operation: Operation;
  readonly kind: BackendFault;
  /** Hits from this call of the operation on, counted from 1. Default 1. */
  readonly nth?: number | undefined;
  /** How many calls in a row. Default 1. */
  readonly times?: number | 'always' | undefined;
}

/** A plan in use: counts calls, tells which fault hits one, and keeps what is to happen later. */
export class FaultScript<Operation extends string = string> {
  readonly #faults: readonly PlannedFault<Operation>[];
  readonly #calls = new Map<Operation, number>();
  readonly #fired: PlannedFault<Operation>[] = [];
  readonly #late: (() => Promise<unknown>)[] = [];

  constructor(faults: readonly PlannedFault<Operation>[]) {
    this.#faults = faults.map((fault) => Object.freeze({ ...fault }));
  }

  /** What happened so far, in order. Empty: the plan hit nothing, so what it was for is over. */
  get fired(): readonly PlannedFault<Operation>[] {
    return [...this.#fired];
  }

  /** Counts a call; the kind of the first fault that hits it. */
  next(operation: Operation): BackendFault | undefined {
    const call = (this.#calls.get(operation) ?? 0) + 1;
    this.#calls.set(operation, call);
    const hit = this.#faults.find(({ operation: wanted, nth = 1, times = 1 }) => {
      return wanted === operation && call >= nth && (times === 'always' || call < nth + times);
    });
    if (hit !== undefined) this.#fired.push(hit);
    return hit?.kind;
  }

  /** Keeps an effect whose reply was lost on the way. */
  later(effect: () => Promise<unknown>): void {
    this.#late.push(effect);
  }

  /** Lets everything happen that is still on its way; its outcome interests nobody any more. */
  async deliver(): Promise<void> {
    for (const effect of this.#late.splice(0)) await effect().catch(() => undefined);
  }
}

/** The error under every injected failure, as an engine would have thrown it: tests can tell it from a real one. */
export class InjectedFault extends Error {
  override readonly name = 'InjectedFault';
  readonly kind: BackendFault;
  readonly code: string;
  readonly retryable: boolean;

  constructor(kind: BackendFault, operation: string) {
    super(`injected into ${operation}: ${kind}`);
    this.kind = kind;
    this.code = codes[kind] ?? 'ECONNRESET';
    this.retryable = kind === 'throttled' || kind === 'error-before' || kind === 'dropped-connection';
  }
}

const codes: Readonly<Partial<Record<BackendFault, string>>> = {
  timeout: 'ETIMEDOUT',
  'short-write': 'ENOSPC',
  'io-error': 'EIO',
  'sync-error': 'EIO',
  throttled: 'EAGAIN',
  revoked: 'EACCES',
};

/** Kinds that are a plain failure before anything happened, for any operation. */
export const plainFaults: ReadonlySet<BackendFault> = new Set([
  'error-before',
  'io-error',
  'short-write',
  'throttled',
  'revoked',
]);

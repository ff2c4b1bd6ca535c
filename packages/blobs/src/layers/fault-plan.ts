/** The calls that a fault can hit; `read` is the stream of a get that has succeeded. */
export type FaultOperation = 'put' | 'get' | 'read' | 'stat' | 'list' | 'delete';

/**
 * What a fault does.
 *
 * Before any effect: `busy` (a failure that passes), `denied` (one that does not), `throttled` (one that passes, after a
 * delay), `hang` (until the abort), `slow` (late, then normal).
 * After the effect: `lost-reply` (it took effect, the caller cannot know), `late` (the caller cannot know; it takes
 * effect afterwards), `twice` (a proxy repeats it).
 * Lies: `dropped` (acknowledged, not done), `overwrite` (a create that replaces), `absent` (what is there is not found).
 * In a stream: `cut` (ends early without an error), `broken` (fails half-way), `flipped` (one bit differs), `doubled` (a
 * chunk or an entry comes twice).
 * In a list: `omitted` (an entry is missing), `swapped` (two are out of order).
 */
export type FaultKind =
  | 'busy'
  | 'denied'
  | 'throttled'
  | 'hang'
  | 'slow'
  | 'lost-reply'
  | 'late'
  | 'twice'
  | 'dropped'
  | 'overwrite'
  | 'absent'
  | 'cut'
  | 'broken'
  | 'flipped'
  | 'doubled'
  | 'omitted'
  | 'swapped';

const before: readonly FaultKind[] = ['busy', 'denied', 'throttled', 'hang', 'slow'];

/** Which kinds make sense for which operation. */
export const faultKinds: Readonly<Record<FaultOperation, readonly FaultKind[]>> = Object.freeze({
  put: [...before, 'lost-reply', 'late', 'twice', 'dropped', 'overwrite'],
  get: [...before, 'absent'],
  read: ['cut', 'broken', 'flipped', 'doubled', 'hang', 'slow'],
  stat: [...before, 'absent'],
  list: [...before, 'absent', 'cut', 'broken', 'doubled', 'omitted', 'swapped'],
  delete: [...before, 'lost-reply', 'late', 'twice', 'dropped'],
});

/** One fault as data: the same plan makes the same failures, so a plan that found something is a regression test. */
export interface Fault {
  readonly operation: FaultOperation;
  readonly kind: FaultKind;
  /** Hits from this matching call on, counted from 1. Default 1. */
  readonly occurrence?: number | undefined;
  /** How many calls in a row. Default 1. */
  readonly times?: number | 'always' | undefined;
  /** Only keys (or list prefixes) that start with this. Default: all. */
  readonly keyPrefix?: string | undefined;
  /** For `slow`, `throttled` and `late`. Default 1,000. */
  readonly milliseconds?: number | undefined;
}

export interface FiredFault {
  readonly fault: Fault;
  readonly key: string;
}

/** A plan in use: counts the calls that match, and remembers what it did. */
export class FaultPlan {
  readonly #entries: { readonly fault: Fault; matched: number }[];
  readonly #fired: FiredFault[] = [];

  /** @throws TypeError when a kind makes no sense for its operation. */
  constructor(faults: readonly Fault[]) {
    for (const { operation, kind } of faults) {
      if (!faultKinds[operation].includes(kind))
        throw new TypeError(`fault plan: ${kind} cannot happen to ${operation}`);
    }
    this.#entries = faults.map((fault) => ({ fault: Object.freeze({ ...fault }), matched: 0 }));
  }

  /** What happened so far, in order. */
  get fired(): readonly FiredFault[] {
    return [...this.#fired];
  }

  /** Counts a call and returns the fault that hits it, if any; the first one of the plan wins. */
  next(operation: FaultOperation, key: string): Fault | undefined {
    let hit: Fault | undefined;
    for (const entry of this.#entries) {
      const { fault } = entry;
      if (fault.operation !== operation || !key.startsWith(fault.keyPrefix ?? '')) continue;
      entry.matched += 1;
      const past = entry.matched - (fault.occurrence ?? 1);
      const times = fault.times ?? 1;
      if (hit === undefined && past >= 0 && (times === 'always' || past < times)) hit = fault;
    }
    if (hit !== undefined) this.#fired.push({ fault: hit, key });
    return hit;
  }
}

import { Pacer, throwIfAborted } from '@holdfast/base';
import { seededRandom } from '@holdfast/base/testing';

import { CrashCounterexampleError, type CrashStep } from './crash-counterexample.js';
import { fingerprint } from './fingerprint.js';
import { CrashPoint, type CrashStateOptions, stateKey } from './model/crash-states.js';
import { ModelFileSystem, type ModelOptions } from './model/model-file-system.js';
import { type RecordedPoint, record } from './record-points.js';
import { readTree } from './tree-text.js';

/** Lets a protocol say what it has promised. */
export interface CrashContext<Fact> {
  /** States that something is durable from now on; crashes from here on must not take it back. */
  readonly ack: (fact: Fact) => void;
  /** What was promised before, by the run and by earlier recoveries. */
  readonly acked: readonly Fact[];
}

/** What the check of a crash may rely on. */
export interface CrashFacts<Fact> {
  readonly acked: readonly Fact[];
  /** `true` when the run had come to its end before the crash. */
  readonly finished: boolean;
  readonly crashes: readonly CrashStep[];
}

export interface CrashScenario<Fact> {
  readonly model?: ModelOptions | undefined;
  /** Makes the disk as it is before; durable without syncs. */
  setup?(fileSystem: ModelFileSystem): unknown;
  /** The real protocol. Runs once, without crash; every change in it is a place for a crash. */
  run(fileSystem: ModelFileSystem, context: CrashContext<Fact>): unknown;
  /** The real recovery. Runs on every disk that a crash can leave, and may be crashed itself. */
  recover?(fileSystem: ModelFileSystem, context: CrashContext<Fact>): unknown;
  /** Throws when what recovery left breaks a promise. */
  check(fileSystem: ModelFileSystem, facts: CrashFacts<Fact>): unknown;
}

export interface ExploreCrashesOptions extends CrashStateOptions {
  /** Crashes in a row: 1 (default) crashes the run, 2 the recovery as well, and so on. */
  readonly crashes?: number | undefined;
  /** Crashes of the shortest stories that are visited; default 1. More leaves shorter ones to another exploration. */
  readonly fewestCrashes?: number | undefined;
  /** `kill`: the process ends, the disk keeps everything, pending changes stay pending. Default: both. */
  readonly kinds?: readonly ('kill' | 'power')[] | undefined;
  /** As `exhaustiveUpTo`, for crashes of a recovery; default 12. */
  readonly recoveryExhaustiveUpTo?: number | undefined;
  /** As `samples`, for crashes of a recovery; default 24. */
  readonly recoverySamples?: number | undefined;
  /** Ends the exploration early; the report says so. Default: none. */
  readonly maxStates?: number | undefined;
  /** Visits at most so many disks after one crash of the run and another of its recovery. Default: all of them. */
  readonly maxStatesPerRecovery?: number | undefined;
  /**
   * Looks at the two limits only between moments, so that a moment of the last crash that was begun has all of its
   * combinations. Default `false`.
   */
  readonly wholeMoments?: boolean | undefined;
  /** Takes the moments in an order drawn from `seed`, so that a limit leaves out any of them. Default `false`. */
  readonly shuffle?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How closely the moments of one crash in the row were looked at. */
export interface MomentCounts {
  /** Every combination of what was pending. For a crash that is not the last one: each of them went on. */
  readonly whole: number;
  /** Too many combinations: corners and samples. */
  readonly sampled: number;
  /** A limit ended it among its combinations. */
  readonly cut: number;
  /** A limit came before it. */
  readonly leftOut: number;
}

export interface CrashReport {
  readonly seed: number;
  /** Changes that the run made. */
  readonly operations: readonly string[];
  /** Different disks that were recovered and checked, by number of crashes: `states[0]` after one. */
  readonly states: readonly number[];
  /** The moments by crash: `moments[0]` of the run, `moments[1]` of recoveries after one crash. */
  readonly moments: readonly MomentCounts[];
  /** Crashes that led to a disk that was visited before with the same promises. */
  readonly repeated: number;
  /** `false` when some moment had too many combinations and was sampled, or a limit left something out. */
  readonly exhaustive: boolean;
  /** `true` when `maxStates` ended the exploration. */
  readonly truncated: boolean;
}

/**
 * Runs a protocol once on the strict crash model, then recovers and checks every disk that a crash at any change could
 * leave. Throws a `CrashCounterexampleError` with the shortest story found: as few crashes as possible, the last one
 * losing as little as possible.
 */
export async function exploreCrashes<Fact = string>(
  scenario: CrashScenario<Fact>,
  options: ExploreCrashesOptions = {},
): Promise<CrashReport> {
  return await new Exploration(scenario, options).explore();
}

/** A disk after a crash, and how it came to be. */
interface Crashed<Fact> {
  readonly fileSystem: ModelFileSystem;
  readonly crashes: readonly CrashStep[];
  readonly acked: readonly Fact[];
  readonly finished: boolean;
  /** For a power loss: the point and choice, from which smaller losses are tried. */
  readonly origin?: { readonly point: CrashPoint; readonly choice: readonly number[] } | undefined;
}

type Limits = Required<{ [K in keyof CrashStateOptions]: number }>;

class Exploration<Fact> {
  readonly #scenario: CrashScenario<Fact>;
  readonly #options: ExploreCrashesOptions;
  readonly #seed: number;
  readonly #kinds: ReadonlySet<'kill' | 'power'>;
  readonly #pacer = new Pacer({ budget: 50 });
  #operations: readonly string[] = [];
  readonly #moments: { whole: number; sampled: number; cut: number; leftOut: number }[] = [];
  #exhaustive = true;
  #repeated = 0;
  #total = 0;

  constructor(scenario: CrashScenario<Fact>, options: ExploreCrashesOptions) {
    this.#scenario = scenario;
    this.#options = options;
    this.#seed = options.seed ?? 1;
    this.#kinds = new Set(options.kinds ?? ['kill', 'power']);
  }

  async explore(): Promise<CrashReport> {
    const start = new ModelFileSystem(this.#scenario.model);
    await this.#scenario.setup?.(start);
    start.settle();
    const run = await record<Fact>(start, [], (context) => this.#scenario.run(start, context));
    this.#operations = run.operations;
    const states: number[] = [];
    // One pass per depth: a story with fewer crashes is found first.
    for (let depth = 1; depth <= (this.#options.crashes ?? 1); depth += 1) {
      if (depth < (this.#options.fewestCrashes ?? 1)) {
        states.push(0);
        continue;
      }
      const before = this.#total;
      await this.#crashAt(run.points, { crashes: [], finished: undefined }, depth, []);
      states.push(this.#total - before);
    }
    return {
      seed: this.#seed,
      operations: this.#operations,
      states,
      moments: this.#moments,
      repeated: this.#repeated,
      exhaustive: this.#exhaustive,
      truncated: this.#full,
    };
  }

  get #perRecovery(): number {
    return this.#options.maxStatesPerRecovery ?? Infinity;
  }

  /** The order in which moments are visited. */
  #order(count: number, earlier: number): readonly number[] {
    const order = [...Array(count).keys()];
    if (this.#options.shuffle !== true) return order;
    const random = seededRandom(this.#seed + earlier * 7919 + this.#total);
    for (let index = count - 1; index > 0; index -= 1) {
      const other = random.below(index + 1);
      [order[index], order[other]] = [order[other] as number, order[index] as number];
    }
    return order;
  }

  get #full(): boolean {
    return this.#total >= (this.#options.maxStates ?? Infinity);
  }

  /** `seen[n]` holds the disks met with n + 1 crashes to go. */
  async #crashAt(
    points: readonly RecordedPoint<Fact>[],
    past: { readonly crashes: readonly CrashStep[]; readonly finished: boolean | undefined },
    depth: number,
    seen: Set<string>[],
  ): Promise<void> {
    const counts = (this.#moments[past.crashes.length] ??= { whole: 0, sampled: 0, cut: 0, leftOut: 0 });
    const limit = past.crashes.length === 0 ? Infinity : this.#total + this.#perRecovery;
    for (const index of this.#order(points.length, past.crashes.length)) {
      if (this.#full || this.#total >= limit) {
        counts.leftOut += 1;
        this.#exhaustive = false;
        continue;
      }
      const end = this.#options.wholeMoments === true && depth === 1 ? undefined : limit;
      counts[await this.#visit(points[index] as RecordedPoint<Fact>, index, past, depth, seen, end)] += 1;
    }
  }

  /** Crashes at one moment in every way that the options ask for; `end`: states at which it is left, if it may be. */
  async #visit(
    point: RecordedPoint<Fact>,
    index: number,
    past: { readonly crashes: readonly CrashStep[]; readonly finished: boolean | undefined },
    depth: number,
    seen: Set<string>[],
    end: number | undefined,
  ): Promise<'whole' | 'sampled' | 'cut'> {
    const known = (seen[depth] ??= new Set());
    const finished = past.finished ?? point.before === undefined;
    const promised = JSON.stringify([point.acked, finished]);
    const limits = this.#limits(past.crashes.length, index);
    const crashPoint = new CrashPoint(point.disk);
    const whole = !this.#kinds.has('power') || crashPoint.combinations <= 2 ** limits.exhaustiveUpTo;
    if (!whole) this.#exhaustive = false;
    for (const crashed of this.#outcomes(point, crashPoint, past.crashes, finished, limits)) {
      if (end !== undefined && (this.#full || this.#total >= end)) {
        this.#exhaustive = false;
        return 'cut';
      }
      if (this.#pacer.due) await this.#pacer.rest(this.#options.signal);
      if (crashed.origin !== undefined) {
        const key = fingerprint(stateKey(crashed.fileSystem) + promised);
        if (known.has(key)) {
          this.#repeated += 1;
          continue;
        }
        known.add(key);
      }
      if (depth > 1) await this.#crashRecovery(crashed, depth - 1, seen);
      else await this.#judge(crashed);
    }
    return whole ? 'whole' : 'sampled';
  }

  *#outcomes(
    point: RecordedPoint<Fact>,
    crashPoint: CrashPoint,
    past: readonly CrashStep[],
    finished: boolean,
    limits: Limits,
  ): Generator<Crashed<Fact>> {
    const step = {
      during: past.length === 0 ? ('run' as const) : ('recover' as const),
      afterOperations: point.afterOperations,
      before: point.before,
    };
    const { acked } = point;
    if (this.#kinds.has('kill')) {
      const crashes = [...past, { ...step, kind: 'kill' as const, lost: [] }];
      yield { fileSystem: point.disk.fork(), crashes, acked, finished };
    }
    if (!this.#kinds.has('power')) return;
    for (const choice of crashPoint.choices(limits)) {
      const crashes = [...past, { ...step, kind: 'power' as const, lost: [] }];
      const origin = { point: crashPoint, choice };
      yield { fileSystem: crashPoint.state(choice), crashes, acked, finished, origin };
    }
  }

  #limits(earlier: number, index: number): Limits {
    const { exhaustiveUpTo, samples, recoveryExhaustiveUpTo, recoverySamples } = this.#options;
    const seed = this.#seed + index;
    return earlier === 0
      ? { exhaustiveUpTo: exhaustiveUpTo ?? 12, samples: samples ?? 128, seed }
      : { exhaustiveUpTo: recoveryExhaustiveUpTo ?? 12, samples: recoverySamples ?? 24, seed };
  }

  /** Recovers with a record, and crashes at every change of the recovery. */
  async #crashRecovery(crashed: Crashed<Fact>, depth: number, seen: Set<string>[]): Promise<void> {
    const { fileSystem, acked, crashes, finished } = crashed;
    const { points } = await record<Fact>(fileSystem, acked, (context) =>
      this.#scenario.recover?.(fileSystem, context),
    );
    await this.#crashAt(points, { crashes, finished }, depth, seen);
  }

  async #judge(crashed: Crashed<Fact>): Promise<void> {
    this.#total += 1;
    const failure = await this.#fails(crashed);
    if (failure === undefined) return;
    const smallest = await this.#smallest(crashed, failure);
    throw this.#counterexample(smallest.crashed, smallest.failure);
  }

  /** Recovers and checks; the failure, or `undefined`. */
  async #fails(crashed: Crashed<Fact>): Promise<Failure | undefined> {
    throwIfAborted(this.#options.signal);
    const { fileSystem, finished, crashes } = crashed;
    const acked = [...crashed.acked];
    let stage: Failure['stage'] = 'recover';
    try {
      const recovering = this.#scenario.recover?.(fileSystem, { acked, ack: (fact) => acked.push(fact) });
      if (recovering instanceof Promise) await recovering;
      stage = 'check';
      const checking = this.#scenario.check(fileSystem, { acked, finished, crashes });
      if (checking instanceof Promise) await checking;
      return undefined;
    } catch (cause) {
      return { stage, cause, fileSystem };
    }
  }

  /** Takes losses back one by one as long as it still fails. */
  async #smallest(
    crashed: Crashed<Fact>,
    failure: Failure,
  ): Promise<{ readonly crashed: Crashed<Fact>; readonly failure: Failure }> {
    const { origin } = crashed;
    if (origin === undefined) return { crashed, failure };
    let best = { choice: origin.choice, failure };
    for (let index = 0; index < best.choice.length; index += 1) {
      if (best.choice[index] === 0) continue;
      const choice = best.choice.with(index, 0);
      const smaller = await this.#fails({ ...crashed, fileSystem: origin.point.state(choice) });
      if (smaller !== undefined) best = { choice, failure: smaller };
    }
    const lost = origin.point.describe(best.choice);
    const crashes = crashed.crashes.with(-1, { ...(crashed.crashes.at(-1) as CrashStep), lost });
    return { crashed: { ...crashed, crashes }, failure: best.failure };
  }

  #counterexample(crashed: Crashed<Fact>, failure: Failure): CrashCounterexampleError {
    return new CrashCounterexampleError({
      seed: this.#seed,
      crashes: crashed.crashes,
      operations: this.#operations,
      acked: crashed.acked,
      stage: failure.stage,
      tree: readTree(failure.fileSystem, '/'),
      cause: failure.cause,
    });
  }
}

interface Failure {
  readonly stage: 'recover' | 'check';
  readonly cause: unknown;
  readonly fileSystem: ModelFileSystem;
}

import { abandonOnAbort, anySignal, throwIfAborted } from '../abort.js';
import { type Clock, systemClock } from '../clock.js';
import { DisposalStack } from '../disposal.js';
import { HoldfastError } from '../errors.js';
import { type SeededRandom, seededRandom } from './seeded-random.js';

/** What every harness has; a contract adds `fresh()`, `reopen()` and what else its cases need. */
export interface ContractHarness {
  /** How failures and reports name the adapter, for example `"fs on ext4"`. */
  readonly adapter: string;
  /** Every value a case chooses derives from it; failures print it. Default 1. */
  readonly seed?: number | undefined;
  readonly limits?: ContractLimits | undefined;
}

export interface ContractLimits {
  /** A case that runs longer has failed; for slow or paid services. Default 60,000. */
  readonly caseMilliseconds?: number | undefined;
}

/** What a running case gets besides its harness. Everything given to `use` and `defer` is released when it ends. */
export interface CaseScope {
  /** Seeded from the harness's seed and the clause, so that no case depends on the order of cases. */
  readonly random: SeededRandom;
  readonly signal: AbortSignal | undefined;
  use<T extends AsyncDisposable | Disposable | undefined>(resource: T): T;
  defer(release: () => unknown): void;
}

/** A fact that a case needs. Where it is absent, `otherwise` must hold instead: nothing is ever skipped. */
export interface Requirement<H> {
  /** A few words, for example `"supports.durable"`. */
  readonly capability: string;
  met(harness: H): boolean | Promise<boolean>;
  otherwise(harness: H, scope: CaseScope): Promise<void>;
}

/** One case as the author of a contract writes it. */
export interface CaseDefinition<H> {
  /** A sentence that states one fact. */
  readonly name: string;
  /** Number of the clause in the contract page, for example `"3.2"`. */
  readonly clause: string;
  /** `true` for one minor release when a new case may fail adapters that conformed before. */
  readonly advisory?: boolean | undefined;
  readonly requires?: Requirement<H> | undefined;
  check(harness: H, scope: CaseScope): Promise<void>;
}

export type CaseBranch = 'declared' | 'refusal';

/** One case as everybody else uses it: running it picks the branch, releases what it opened and explains failures. */
export interface ContractCase<H> {
  readonly name: string;
  readonly clause: string;
  readonly advisory: boolean;
  /** The capability whose absence turns this into a refusal case. */
  readonly requires?: string | undefined;
  /** @throws ContractViolationError saying what the adapter's author must fix. */
  run(harness: H, options?: RunOptions): Promise<CaseBranch>;
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

export interface ContractSuite<H> {
  /** Name and version, for example `blobs/1`. */
  readonly contract: string;
  /** The page with the numbered clauses. */
  readonly page: string;
  readonly cases: readonly ContractCase<H>[];
}

/** An adapter breaks a clause of its contract. The failed assertion is the cause. */
export class ContractViolationError extends HoldfastError {
  static override readonly code = 'BASE_CONTRACT_VIOLATION';
  declare readonly code: 'BASE_CONTRACT_VIOLATION';
  declare readonly contract: string;
  declare readonly clause: string;
  declare readonly caseName: string;
  declare readonly adapter: string;
  declare readonly seed: number;
  /** What the adapter's author must fix. */
  declare readonly detail: string;

  constructor(facts: ViolationFacts, cause: unknown) {
    const detail = describeFailure(cause);
    const place = `${facts.page}, clause ${facts.clause}, seed ${facts.seed}`;
    super(`${facts.adapter} breaks ${facts.contract} "${facts.caseName}": ${detail} (${place})`, {
      cause,
      fields: { ...facts, detail },
    });
  }
}

interface ViolationFacts {
  readonly contract: string;
  readonly page: string;
  readonly clause: string;
  readonly caseName: string;
  readonly adapter: string;
  readonly seed: number;
}

/** Turns definitions into a frozen suite. @throws TypeError when two cases share a clause or a name. */
export function defineSuite<H extends ContractHarness>(
  contract: string,
  page: string,
  definitions: readonly CaseDefinition<H>[],
): ContractSuite<H> {
  const seen = new Set<string>();
  for (const { clause, name } of definitions) {
    for (const key of [clause, name]) {
      if (seen.has(key)) throw new TypeError(`defineSuite: ${contract} has ${JSON.stringify(key)} twice`);
      seen.add(key);
    }
  }
  const cases = definitions.map((definition) =>
    Object.freeze({
      name: definition.name,
      clause: definition.clause,
      advisory: definition.advisory ?? false,
      requires: definition.requires?.capability,
      run: async (harness: H, options: RunOptions = {}) =>
        await runDefinition(contract, page, definition, harness, options),
    }),
  );
  return Object.freeze({ contract, page, cases: Object.freeze(cases) });
}

/** The two functions of a test runner that a suite needs; vitest and `node:test` have them, others too. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>): unknown;
}

/** Registers every case with a runner. A failing advisory case does not fail the run; `verifySuite` shows it. */
export function registerSuite<H extends ContractHarness>(
  suite: ContractSuite<H>,
  runner: TestRunner,
  harness: H,
): void {
  runner.describe(`${suite.contract}: ${harness.adapter}`, () => {
    for (const contractCase of suite.cases) {
      runner.it(`${contractCase.clause} ${contractCase.name}`, async () => {
        const run = contractCase.run(harness);
        await (contractCase.advisory ? run.catch(() => undefined) : run);
      });
    }
  });
}

export interface CaseResult {
  readonly clause: string;
  readonly name: string;
  readonly advisory: boolean;
  readonly outcome: 'passed' | 'failed';
  /** Absent when the case failed before it could tell. */
  readonly branch?: CaseBranch | undefined;
  readonly failure?: ContractViolationError | undefined;
  readonly durationMs: number;
}

export interface ContractReport {
  readonly contract: string;
  readonly adapter: string;
  readonly seed: number;
  /** No case failed, advisory ones aside. */
  readonly ok: boolean;
  /** One line for people, for example `contract: blobs/1, cases 48, advisory 0: all passed`. */
  readonly summary: string;
  readonly cases: readonly CaseResult[];
}

/** Runs every case in order and reports; a failure never stops it, an abort rejects with the signal's reason. */
export async function verifySuite<H extends ContractHarness>(
  suite: ContractSuite<H>,
  harness: H,
  options: RunOptions = {},
): Promise<ContractReport> {
  const clock = options.clock ?? systemClock;
  const results: CaseResult[] = [];
  for (const contractCase of suite.cases) {
    throwIfAborted(options.signal);
    const { clause, name, advisory } = contractCase;
    const started = clock.monotonic();
    try {
      const branch = await contractCase.run(harness, options);
      results.push({
        clause,
        name,
        advisory,
        outcome: 'passed',
        branch,
        durationMs: clock.monotonic() - started,
      });
    } catch (error) {
      if (!ContractViolationError.is(error)) throw error;
      results.push({
        clause,
        name,
        advisory,
        outcome: 'failed',
        failure: error,
        durationMs: clock.monotonic() - started,
      });
    }
  }
  const failed = results.filter((result) => result.outcome === 'failed');
  const advisories = results.filter((result) => result.advisory).length;
  const verdict = failed.length === 0 ? 'all passed' : `${failed.length} failed`;
  return {
    contract: suite.contract,
    adapter: harness.adapter,
    seed: seedOf(harness),
    ok: failed.every((result) => result.advisory),
    summary: `contract: ${suite.contract}, cases ${results.length}, advisory ${advisories}: ${verdict}`,
    cases: results,
  };
}

/** The seed that a harness runs with. */
export function seedOf(harness: ContractHarness): number {
  return harness.seed ?? 1;
}

const defaultCaseMilliseconds = 60_000;

async function runDefinition<H extends ContractHarness>(
  contract: string,
  page: string,
  definition: CaseDefinition<H>,
  harness: H,
  options: RunOptions,
): Promise<CaseBranch> {
  throwIfAborted(options.signal);
  const { clause, name: caseName, requires } = definition;
  const limit = harness.limits?.caseMilliseconds ?? defaultCaseMilliseconds;
  const ended = new AbortController();
  const stack = new DisposalStack();
  const scope: CaseScope = {
    random: seededRandom(mixSeed(seedOf(harness), clause)),
    signal: anySignal(options.signal, ended.signal),
    use: (resource) => stack.use(resource),
    defer: (release) => {
      stack.defer(release);
    },
  };
  const work = async (): Promise<CaseBranch> => {
    if (requires === undefined || (await requires.met(harness))) {
      await definition.check(harness, scope);
      return 'declared';
    }
    await requires.otherwise(harness, scope);
    return 'refusal';
  };
  const expire = async (): Promise<never> => {
    await (options.clock ?? systemClock).sleep(limit, { signal: ended.signal });
    throw new Error(
      `did not finish within ${limit} ms: a promise of the adapter never settles, or it is too slow`,
    );
  };
  try {
    const branch = await abandonOnAbort(options.signal, Promise.race([work(), expire()]));
    await stack.close();
    return branch;
  } catch (error) {
    await stack.close().catch(() => undefined);
    throwIfAborted(options.signal);
    throw new ContractViolationError(
      { contract, page, clause, caseName, adapter: harness.adapter, seed: seedOf(harness) },
      error,
    );
  } finally {
    ended.abort();
  }
}

/** FNV-1a over the clause, so that neighbouring seeds and clauses draw unrelated values. */
function mixSeed(seed: number, clause: string): number {
  let hash = Math.imul(seed ^ 0x811c9dc5, 0x01000193) >>> 0;
  for (let i = 0; i < clause.length; i += 1) hash = Math.imul(hash ^ clause.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}

function describeFailure(cause: unknown): string {
  if (!(cause instanceof Error)) return `threw ${String(cause)}, which is not an error`;
  const text = cause.message.replaceAll(/\s+/g, ' ').trim().slice(0, 800);
  if (cause.name === 'AssertionError' || cause.name === 'Error') return text;
  // "See its cause" is of no use in a report, and the cause is what the author of a driver wrote.
  return cause.cause instanceof Error
    ? `threw ${cause.name}: ${text}: ${describeFailure(cause.cause)}`
    : `threw ${cause.name}: ${text}`;
}

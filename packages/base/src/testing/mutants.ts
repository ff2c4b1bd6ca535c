import { type ContractHarness, type ContractSuite, verifySuite } from './contract-suite.js';

/** A deliberately wrong adapter, and the clauses whose cases are expected to catch it. */
export interface Mutant<H extends ContractHarness> {
  /** What is wrong with it, as a short phrase. */
  readonly name: string;
  /** Clauses whose cases must fail; others may fail too. */
  readonly killedBy: readonly string[];
  harness(): H;
}

export interface MutantVerdict {
  readonly name: string;
  /** Clauses whose cases failed. */
  readonly killers: readonly string[];
  /** Clauses of `killedBy` whose cases passed all the same. */
  readonly missed: readonly string[];
}

export interface RunMutantsOptions {
  /** `expected`: only the cases of `killedBy`, which is enough to hold a table to its word. Default `all`. */
  readonly cases?: 'all' | 'expected' | undefined;
}

/** Runs a suite against every mutant. A mutant with no killers has survived: the suite is too weak. */
export async function runMutants<H extends ContractHarness>(
  suite: ContractSuite<H>,
  mutants: readonly Mutant<H>[],
  options: RunMutantsOptions = {},
): Promise<readonly MutantVerdict[]> {
  const verdicts: MutantVerdict[] = [];
  for (const mutant of mutants) {
    const chosen = suite.cases.filter(
      ({ clause }) => options.cases !== 'expected' || mutant.killedBy.includes(clause),
    );
    const report = await verifySuite({ ...suite, cases: chosen }, mutant.harness());
    const killers = report.cases
      .filter((result) => result.outcome === 'failed')
      .map((result) => result.clause);
    const missed = mutant.killedBy.filter((clause) => !killers.includes(clause));
    verdicts.push({ name: mutant.name, killers, missed });
  }
  return verdicts;
}

/** Clauses whose cases no mutant made fail: each needs a mutant or a written reason. */
export function idleClauses<H extends ContractHarness>(
  suite: ContractSuite<H>,
  verdicts: readonly MutantVerdict[],
): readonly string[] {
  const busy = new Set(verdicts.flatMap((verdict) => verdict.killers));
  return suite.cases.map((contractCase) => contractCase.clause).filter((clause) => !busy.has(clause));
}

import type { CaseDefinition, CaseScope, Requirement } from '@holdfast/base/testing';

import { CaseTools } from './case-helpers.js';
import type { LeaserHarness } from './harness.js';

export type LeaserCheck = (tools: CaseTools) => Promise<void>;

export interface LeaserRequirement {
  readonly capability: string;
  met(harness: LeaserHarness): boolean | Promise<boolean>;
  otherwise: LeaserCheck;
}

/** Writes one case in terms of {@link CaseTools}. */
export function leaserCase(
  clause: string,
  name: string,
  check: LeaserCheck,
  requires?: LeaserRequirement,
): CaseDefinition<LeaserHarness> {
  const run = async (harness: LeaserHarness, scope: CaseScope): Promise<void> => {
    await check(new CaseTools(harness, scope));
  };
  if (requires === undefined) return { clause, name, check: run };
  const requirement: Requirement<LeaserHarness> = {
    capability: requires.capability,
    met: async (harness) => await requires.met(harness),
    otherwise: async (harness, scope) => {
      await requires.otherwise(new CaseTools(harness, scope));
    },
  };
  return { clause, name, check: run, requires: requirement };
}

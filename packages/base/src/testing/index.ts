export {
  checkHistory,
  type HistoryCall,
  HistoryRecorder,
  type HistoryVerdict,
  type SequentialModel,
} from './check-history.js';
export {
  type CaseBranch,
  type CaseDefinition,
  type CaseResult,
  type CaseScope,
  type ContractCase,
  type ContractHarness,
  type ContractLimits,
  type ContractReport,
  type ContractSuite,
  ContractViolationError,
  defineSuite,
  type Requirement,
  type RunOptions,
  registerSuite,
  seedOf,
  type TestRunner,
  verifySuite,
} from './contract-suite.js';
export {
  type BackendFault,
  type BackendFaultKind,
  backendFaults,
  FaultScript,
  InjectedFault,
  type PlannedFault,
  plainFaults,
} from './fault-script.js';
export { ManualClock } from './manual-clock.js';
export {
  idleClauses,
  type Mutant,
  type MutantVerdict,
  type RunMutantsOptions,
  runMutants,
} from './mutants.js';
export { illegalNames, legalNames } from './name-tables.js';
export { type SeededRandom, seededRandom } from './seeded-random.js';

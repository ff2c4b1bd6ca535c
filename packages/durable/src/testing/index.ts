export { CrashCounterexampleError, type CrashStep } from './crash-counterexample.js';
export {
  type CrashContext,
  type CrashFacts,
  type CrashReport,
  type CrashScenario,
  type ExploreCrashesOptions,
  exploreCrashes,
  type MomentCounts,
} from './explore-crashes.js';
export { type ExploreFaultsOptions, exploreFaults, type FaultScenario } from './explore-faults.js';
export { type Fault, FaultFileSystem } from './fault-file-system.js';
export {
  type FileSystemCall,
  type FileSystemOperation,
  ForwardingFileSystem,
} from './forwarding-file-system.js';
export { CrashPoint, type CrashStateOptions } from './model/crash-states.js';
export { ModelFileSystem, type ModelOperation, type ModelOptions } from './model/model-file-system.js';
export { type MutableOperation, MutantFileSystem, type Mutation } from './mutant-file-system.js';
export { type TracedCall, TracingFileSystem } from './tracing-file-system.js';
export { readTree, type TreePlan, type TreeText, writeTree } from './tree-text.js';

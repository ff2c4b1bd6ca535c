export { compareWhole } from './compare-whole.js';
export { type DefinedNode, type DefineOptions, MemorySource } from './memory-source.js';
export type { StrategyDisk, StrategyHarness } from './strategy-harness.js';
export { strategyContract, testStrategy, verifyStrategy } from './strategy-suite.js';

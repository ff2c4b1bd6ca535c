export { prefixedLeaserHarness, secondViewLeaserHarness } from './derived-harnesses.js';
export { type FsLeaserHarnessOptions, fsLeaserHarness } from './fs-harness.js';
export type { LeaserHarness } from './harness.js';
export { memoryLeaserHarness } from './memory-harness.js';
export { type LeaserFaultOperation, leaserFaults, scriptedLeaserDriver } from './scripted-leaser-driver.js';
export { leaserSuite, testLeaser, verifyLeaser } from './suite.js';

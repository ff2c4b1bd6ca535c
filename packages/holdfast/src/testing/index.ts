// For the tests of applications: sessions over memory, a clock that tests move, and faults on demand.
export { ManualClock } from '@holdfast/base/testing';
export type { Fault as BlobsFault, FaultKind as BlobsFaultKind } from '@holdfast/blobs/layers';
export type { LedgerFault } from '@holdfast/journal/testing';
export type { TestPlacement, TestRigOptions } from './test-placement.js';
export type { TestProcess } from './test-process.js';
export { TestWorld, type TestWorldOptions } from './test-world.js';
export type { JournalFault, LoseOptions, WorldFaults } from './world-faults.js';

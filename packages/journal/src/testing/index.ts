export { prefixedLedgerHarness, secondViewLedgerHarness } from './derived-ledger-harnesses.js';
export { FaultLedgerDriver, type LedgerFault } from './fault-ledger-driver.js';
export type { LedgerHarness, LedgerLimits, LostReply } from './ledger-harness.js';
export { ledgerContract, testLedger, verifyLedger } from './ledger-suite.js';
export { memoryLedgerHarness } from './memory-ledger-harness.js';
export { type LedgerFaultOperation, ledgerFaults, scriptedLedgerDriver } from './scripted-ledger-driver.js';
export { memorySessionParts } from './session-parts.js';

import type { CaseScope, ContractHarness, ContractLimits } from '@holdfast/base/testing';

import type { Ledger } from '../ledger.js';

/** What becomes of an append whose reply is lost. */
export type LostReply = 'landed' | 'not-landed';

/** What an adapter's author writes once; every case of the suite runs over it. */
export interface LedgerHarness extends ContractHarness {
  /** Opens an empty storage that shares nothing with any other. */
  fresh(): Promise<Ledger>;
  /**
   * Opens the storage of `ledger` again, as another process would. Works after `ledger` was closed; while it is open it
   * gives an independent view where `supports.shared`, and rejects with `LedgerInUseError` where not.
   */
  reopen(ledger: Ledger): Promise<Ledger>;
  /** Opens one more view of the storage in this process, where that is possible without `supports.shared`. */
  readonly view?: ((ledger: Ledger) => Promise<Ledger>) | undefined;
  /**
   * Ends `ledger` the hard way (for a durable one: as a loss of power would, without close) and opens what is left.
   * Absent: the cases that need it check what can be checked without.
   */
  readonly crash?: ((ledger: Ledger) => Promise<Ledger>) | undefined;
  /** Damages the stored bytes of one record behind the ledger's back. */
  readonly corrupt?: ((ledger: Ledger, name: string, seq: number) => Promise<void>) | undefined;
  /** Makes the backend lose the reply of the next append of `ledger`, after or before it took effect. */
  readonly loseReply?: ((ledger: Ledger, outcome: LostReply) => Promise<void>) | undefined;
  /** Counts what the reads of `ledger` hold now: handles, cursors, connections. */
  readonly held?: ((ledger: Ledger) => Promise<number>) | undefined;
  readonly limits?: LedgerLimits | undefined;
}

/** For slow or paid services, and for views that leave less room. */
export interface LedgerLimits extends ContractLimits {
  /** Longest name in bytes. Default 512; only a view behind a prefix may have less. */
  readonly maxNameBytes?: number | undefined;
  /** Records of the longest ledger of the suite. Default 300. */
  readonly manyRecords?: number | undefined;
}

/** Opens an empty storage for a case and closes it when the case ends. */
export async function openFresh(harness: LedgerHarness, scope: CaseScope): Promise<Ledger> {
  return scope.use(await harness.fresh());
}

/** Opens the storage again for a case and closes it when the case ends. */
export async function openAgain(harness: LedgerHarness, scope: CaseScope, ledger: Ledger): Promise<Ledger> {
  return scope.use(await harness.reopen(ledger));
}

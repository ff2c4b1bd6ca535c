import type { Ledger, LedgerOptions } from '../ledger.js';
import { Ledger as PortableLedger } from '../ledger.js';
import { MemoryLedgerDriver, MemoryLedgerStorage } from '../memory-ledger.js';
import { FaultLedgerDriver } from './fault-ledger-driver.js';
import type { LedgerHarness } from './ledger-harness.js';

interface Opened {
  readonly storage: MemoryLedgerStorage;
  readonly faults: FaultLedgerDriver;
}

/** The harness of the memory driver: the reference for the one that an adapter's author writes. */
export function memoryLedgerHarness(options: LedgerOptions = {}): LedgerHarness {
  const opened = new WeakMap<Ledger, Opened>();
  const open = (storage: MemoryLedgerStorage): Ledger => {
    const faults = new FaultLedgerDriver(new MemoryLedgerDriver({ storage }));
    const ledger = new PortableLedger(faults, options);
    opened.set(ledger, { storage, faults });
    return ledger;
  };
  const known = (ledger: Ledger): Opened => opened.get(ledger) as Opened;
  return {
    adapter: 'memory',
    fresh: async () => open(new MemoryLedgerStorage()),
    reopen: async (ledger) => open(known(ledger).storage),
    crash: async (ledger) => open(known(ledger).storage),
    loseReply: async (ledger, outcome) => {
      known(ledger).faults.arm({ operation: 'append', kind: outcome });
    },
  };
}

import type { LedgerDriver } from '../driver.js';
import type { Ledger } from '../ledger.js';

/** A driver over a ledger that somebody else opened: for views that put something between the two. */
export function ledgerAsDriver(ledger: Ledger): LedgerDriver {
  return {
    contract: 'ledger/1',
    supports: ledger.supports,
    maxRecordBytes: ledger.maxRecordBytes,
    storagePaths: () => ledger.storagePaths(),
    append: async (name, expectedTip, records, options) => {
      await ledger.append(name, expectedTip, records, options);
    },
    read: (name, range, options) => ledger.read(name, { ...range, signal: options.signal }),
    changed: async (name, tip, options) => {
      await ledger.changed(name, tip, options);
    },
    tip: async (name, options) => await ledger.tip(name, options),
    list: (prefix, options) => ledger.list(prefix, options),
    delete: async (name, options) => {
      await ledger.delete(name, options);
    },
    close: async () => {
      await ledger.close();
    },
  };
}

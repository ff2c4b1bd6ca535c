import { type BackendFault, type FaultScript, InjectedFault, plainFaults } from '@holdfast/base/testing';

import type { LedgerDriver, LedgerDriverOptions, LedgerRange, LedgerRecord } from '../driver.js';
import { LedgerAmbiguousError } from '../errors.js';

/** Operations of a ledger that a fault can hit. */
export type LedgerFaultOperation = 'append' | 'read' | 'tip' | 'list' | 'delete';

const everywhere: readonly BackendFault[] = ['error-before', 'io-error', 'throttled', 'revoked'];

/** Which of the eighteen kinds can happen to which operation; a ledger has no clock. */
export const ledgerFaults: Readonly<Record<LedgerFaultOperation, readonly BackendFault[]>> = Object.freeze({
  append: [
    ...everywhere,
    ...(['error-after', 'timeout', 'twice', 'short-write', 'sync-error'] as const),
    ...(['lost-acknowledged', 'condition-ignored'] as const),
  ],
  read: [...everywhere, 'short-read', 'corrupt-read', 'stale-read', 'disordered-list', 'dropped-connection'],
  tip: [...everywhere, 'stale-read'],
  list: [...everywhere, 'short-read', 'lagging-list', 'disordered-list', 'dropped-connection'],
  delete: [...everywhere, 'error-after', 'timeout', 'twice', 'lost-acknowledged'],
});

/** Passes calls on to another driver, and makes those go wrong that a script names. Never for production. */
export function scriptedLedgerDriver(
  inner: LedgerDriver,
  script: FaultScript<LedgerFaultOperation>,
): LedgerDriver {
  const before = (operation: LedgerFaultOperation): BackendFault | undefined => {
    const kind = script.next(operation);
    if (kind !== undefined && plainFaults.has(kind)) throw new InjectedFault(kind, operation);
    return kind;
  };
  return {
    contract: 'ledger/1',
    supports: inner.supports,
    maxRecordBytes: inner.maxRecordBytes,
    storagePaths: () => inner.storagePaths(),
    append: async (name, expectedTip, records, options) => {
      const kind = before('append');
      const append = async (tip = expectedTip): Promise<void> => {
        await inner.append(name, tip, records, options);
      };
      const lost = (): LedgerAmbiguousError =>
        new LedgerAmbiguousError(name, expectedTip, {
          cause: new InjectedFault(kind ?? 'timeout', 'append'),
        });
      switch (kind) {
        case 'error-after':
        case 'sync-error':
          await append();
          throw lost();
        case 'timeout':
          script.later(async () => {
            await inner.append(name, expectedTip, records, {});
          });
          throw lost();
        case 'twice':
          await append();
          // The repetition finds the place taken, and nobody waits for its answer.
          await append().catch(() => undefined);
          return;
        case 'lost-acknowledged':
          return;
        case 'condition-ignored':
          await append(await inner.tip(name, options));
          return;
        default:
          await append();
      }
    },
    read: (name, range, options) => brokenRead(inner, before, { name, range, options }),
    changed: async (name, tip, options) => {
      await inner.changed(name, tip, options);
    },
    tip: async (name, options) => {
      const kind = before('tip');
      const tip = await inner.tip(name, options);
      return kind === 'stale-read' ? Math.max(0, tip - 1) : tip;
    },
    list: (prefix, options) => brokenList(inner, before, prefix, options),
    delete: async (name, options) => {
      const kind = before('delete');
      if (kind === 'lost-acknowledged') return;
      if (kind === 'timeout') {
        script.later(async () => {
          await inner.delete(name, {});
        });
        throw new InjectedFault(kind, 'delete');
      }
      await inner.delete(name, options);
      if (kind === 'twice') await inner.delete(name, options);
      if (kind === 'error-after') throw new InjectedFault(kind, 'delete');
    },
    close: async () => {
      await inner.close();
    },
  };
}

type Before = (operation: LedgerFaultOperation) => BackendFault | undefined;

async function* brokenRead(
  inner: LedgerDriver,
  before: Before,
  call: { readonly name: string; readonly range: LedgerRange; readonly options: LedgerDriverOptions },
): AsyncGenerator<LedgerRecord, void, undefined> {
  const kind = before('read');
  const records: LedgerRecord[] = [];
  for await (const record of inner.read(call.name, call.range, call.options)) {
    if (kind === undefined) yield record;
    else records.push(record);
  }
  if (kind === undefined) return;
  const last = records.at(-1);
  if (kind === 'disordered-list') yield* records.reverse();
  else if (kind === 'corrupt-read') {
    yield* records.slice(0, -1);
    if (last !== undefined) yield { seq: last.seq, data: flipped(last.data) };
  } else yield* records.slice(0, -1);
  if (kind === 'dropped-connection') throw new InjectedFault(kind, 'read');
}

async function* brokenList(
  inner: LedgerDriver,
  before: Before,
  prefix: string,
  options: LedgerDriverOptions,
): AsyncGenerator<string, void, undefined> {
  const kind = before('list');
  const names: string[] = [];
  for await (const name of inner.list(prefix, options)) names.push(name);
  if (kind === 'disordered-list') yield* names.reverse();
  else yield* kind === undefined ? names : names.slice(0, -1);
  if (kind === 'dropped-connection') throw new InjectedFault(kind, 'list');
}

function flipped(data: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(data);
  if (copy.length > 0) copy[0] = (copy[0] as number) ^ 1;
  return copy;
}

import { checkHistory, HistoryRecorder } from '@holdfast/base/testing';
import {
  Ledger,
  LedgerAmbiguousError,
  LedgerConflictError,
  MemoryLedgerDriver,
  MemoryLedgerStorage,
} from '@holdfast/journal';
import { FaultLedgerDriver } from '@holdfast/journal/testing';

import { inTurns, Simulation } from './simulation.mjs';

/** @typedef {import('@holdfast/journal').LedgerDriver} LedgerDriver */
/** @typedef {{ readonly append: readonly string[], readonly at: number } | { readonly read: true }} Input */
/** @typedef {'written' | 'conflict' | readonly string[]} Output */
/** @typedef {import('@holdfast/base/testing').SequentialModel<readonly string[], Input, Output>} Model */

const name = 'log';

/** What a ledger is: a list that grows at its end, if it still ends where the caller thinks. @type {Model} */
export const ledgerModel = {
  initial: [],
  step: (state, input, output) => {
    if ('read' in input)
      return output === undefined || JSON.stringify(output) === JSON.stringify(state) ? state : undefined;
    const fits = state.length === input.at;
    if (output === 'conflict') return fits ? undefined : state;
    return fits ? [...state, ...input.append] : undefined;
  },
};

/**
 * Records what three clients of one ledger do and are told, and looks for an order that explains it.
 * @param {number} seed
 * @param {(driver: LedgerDriver) => LedgerDriver} [mistake] Makes the driver wrong, to see it found.
 */
export async function ledgerHistory(seed, mistake = (driver) => driver) {
  const simulation = new Simulation(seed);
  const { random } = simulation;
  const storage = new MemoryLedgerStorage();
  /** @type {HistoryRecorder<Input, Output>} */
  const recorder = new HistoryRecorder();
  const wrong = mistake(new MemoryLedgerDriver({ storage }));
  const client = (/** @type {string} */ who) => async () => {
    const faults = new FaultLedgerDriver(wrong);
    const ledger = new Ledger(inTurns(faults, simulation, ['append', 'tip']));
    let tip = 0;
    for (let step = 0; step < 5; step += 1) {
      if (random.below(4) === 0)
        faults.arm({ operation: 'append', kind: random.pick(['landed', 'not-landed', 'late']) });
      if (random.below(3) === 0) {
        /** @type {string[]} */
        const seen = [];
        await recorder.record(who, { read: true }, async () => {
          for await (const { data } of ledger.read(name)) seen.push(Buffer.from(data).toString());
          return seen;
        });
        tip = seen.length;
        continue;
      }
      const records = Array.from({ length: 1 + random.below(2) }, (_, index) => `${who}${step}${index}`);
      const at = tip;
      const outcome = await recorder.record(who, { append: records, at }, async () => {
        try {
          await ledger.append(
            name,
            at,
            records.map((record) => Buffer.from(record)),
          );
          return 'written';
        } catch (error) {
          if (LedgerConflictError.is(error)) return 'conflict';
          if (LedgerAmbiguousError.is(error)) return undefined;
          throw error;
        }
      });
      if (outcome === 'written') tip += records.length;
      else tip = await ledger.tip(name);
      if (random.below(2) === 0) await faults.deliver();
    }
    await faults.deliver();
  };
  await simulation.run(['a', 'b', 'c'].map(client));
  return { calls: recorder.calls, verdict: checkHistory(ledgerModel, recorder.calls) };
}

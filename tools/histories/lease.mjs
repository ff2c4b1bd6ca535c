import { checkHistory, HistoryRecorder } from '@holdfast/base/testing';
import { LeaseHeldError, Leaser, MemoryLeaserDriver, MemoryLeases } from '@holdfast/lease';

import { inTurns, Simulation } from './simulation.mjs';

/** @typedef {import('@holdfast/lease').LeaserDriver} LeaserDriver */
/** @typedef {{ readonly acquire: true } | { readonly release: number } | { readonly expire: true }} Input */
/** @typedef {{ readonly granted: number } | 'held' | 'done'} Output */
/** @typedef {{ readonly epoch: number, readonly held: boolean }} State */

const name = 'lease';

/** What a lease is: one holder, and epochs that rise. @type {import('@holdfast/base/testing').SequentialModel<State, Input, Output>} */
export const leaseModel = {
  initial: { epoch: 0, held: false },
  step: (state, input, output) => {
    if ('release' in input) return input.release === state.epoch ? { ...state, held: false } : state;
    if ('expire' in input) return { ...state, held: false };
    if (output === 'held') return state.held ? state : undefined;
    if (state.held) return undefined;
    if (typeof output !== 'object') return { epoch: state.epoch + 1, held: true };
    return output.granted > state.epoch ? { epoch: output.granted, held: true } : undefined;
  },
};

/**
 * Records what three clients of one lease are granted, and looks for an order that explains it.
 * @param {number} seed
 * @param {(driver: LeaserDriver) => LeaserDriver} [mistake]
 */
export async function leaseHistory(seed, mistake = (driver) => driver) {
  const simulation = new Simulation(seed);
  const { random } = simulation;
  const leases = new MemoryLeases();
  /** @type {HistoryRecorder<Input, Output>} */
  const recorder = new HistoryRecorder();
  const client = (/** @type {string} */ who) => async () => {
    const leaser = new Leaser(inTurns(mistake(new MemoryLeaserDriver(leases)), simulation, ['acquire']));
    for (let step = 0; step < 5; step += 1) {
      /** @type {import('@holdfast/lease').Lease | undefined} */
      let lease;
      await recorder.record(who, { acquire: true }, async () => {
        try {
          lease = await leaser.acquire(name);
          return { granted: lease.epoch };
        } catch (error) {
          if (LeaseHeldError.is(error)) return 'held';
          throw error;
        }
      });
      await simulation.turn();
      if (lease === undefined) continue;
      const held = lease;
      if (random.below(4) === 0) {
        // As a machine that stands still: its lease runs out, and it does not know.
        await recorder.record(who, { expire: true }, async () => {
          leases.expire(name, { silently: true });
          return await Promise.resolve('done');
        });
        await simulation.turn();
      }
      await recorder.record(who, { release: held.epoch }, async () => {
        await held.release();
        return 'done';
      });
    }
    await leaser.close();
  };
  await simulation.run(['a', 'b', 'c'].map(client));
  return { calls: recorder.calls, verdict: checkHistory(leaseModel, recorder.calls) };
}

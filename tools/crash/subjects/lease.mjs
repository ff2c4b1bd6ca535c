import assert from 'node:assert/strict';

import { ManualClock } from '@holdfast/base/testing';
import { openFsLeaser } from '@holdfast/lease/fs';

/** @typedef {import('../subject.mjs').Place} Place */

const ttl = 3_000;
const names = ['a', 'b'];
let generations = 0;

/**
 * A process of the current generation; those of earlier ones are dead.
 * @param {Place} place
 * @param {number} pid
 */
async function open({ fileSystem, directory }, pid) {
  const generation = `${process.pid}-${generations}`;
  return await openFsLeaser(`${directory}/leases`, {
    fileSystem,
    clock: new ManualClock(),
    ttl,
    processes: {
      self: () => ({ hostId: generation, bootId: null, pidNamespace: null, pid, startTime: null }),
      isAlive: (other) => (other.hostId === generation ? 'alive' : 'dead'),
    },
  });
}

/** @param {Place} place @param {import('../subject.mjs').Promises} promises */
async function takeOver(place, { acked, ack }) {
  generations += 1;
  const leaser = await open(place, 9);
  for (const name of names) {
    const { epoch } = await leaser.acquire(name);
    for (const [known, earlier] of acked)
      if (known === name)
        assert.ok(epoch > Number(earlier), `epoch ${epoch} of ${name} after ${String(earlier)}`);
    ack([name, epoch]);
  }
}

/** @type {import('../subject.mjs').Subject} */
export const lease = {
  name: 'lease on a disk',
  promises:
    'an epoch that was granted is never granted again, and the next holder is never kept out by a dead one',
  run: async (place, { ack }) => {
    generations += 1;
    const [first, second] = [await open(place, 1), await open(place, 2)];
    const above = place.seed % 9;
    const held = await first.acquire('a');
    ack(['a', held.epoch]);
    await held.release();
    const [b, a] = await Promise.all([second.acquire('b', { above }), first.acquire('a')]);
    ack(['b', b.epoch]);
    ack(['a', a.epoch]);
    await b.release();
    ack(['b', (await first.acquire('b')).epoch]);
    // The last holders are inside when the crash comes.
  },
  recover: takeOver,
  check: async (place, { acked }) => {
    await takeOver(place, { acked, ack: () => undefined });
  },
};

import assert from 'node:assert/strict';

import { ManualClock } from '@holdfast/base/testing';
import { openFsBlobs } from '@holdfast/blobs/fs';
import { SessionNotFoundError, SessionStore, sharedSessionLedgers } from '@holdfast/journal';
import { openFsLeaser } from '@holdfast/lease/fs';

import { openModelLedger } from '../model-ledger.mjs';

/** @typedef {import('../subject.mjs').Place} Place */
/** @typedef {import('../subject.mjs').Subject} Subject */

const id = 'session-0001';
let generations = 0;

/** Everything that a process has open. @param {Place} place */
async function open({ fileSystem, directory }) {
  generations += 1;
  const generation = `${process.pid}-${generations}`;
  const clock = new ManualClock();
  const blobs = await openFsBlobs(`${directory}/store`, { fileSystem, clock });
  const leaser = await openFsLeaser(`${directory}/leases`, {
    fileSystem,
    clock,
    processes: {
      self: () => ({ hostId: generation, bootId: null, pidNamespace: null, pid: 1, startTime: null }),
      isAlive: (other) => (other.hostId === generation ? 'alive' : 'dead'),
    },
  });
  const ledgers = sharedSessionLedgers(openModelLedger(fileSystem, `${directory}/ledger`));
  return await SessionStore.open({ ledgers, leaser, blobs, clock });
}

/** Opens the session, or makes it when there is none. @param {Place} place */
async function openSession(place) {
  const store = await open(place);
  try {
    return await store.open(id);
  } catch (error) {
    if (!SessionNotFoundError.is(error)) throw error;
    return await store.create({ id });
  }
}

/** @type {Subject} */
export const opening = {
  name: 'session open',
  promises: 'every acknowledged event is there once, at its place; the session opens, and its epochs rise',
  run: async (place, { ack }) => {
    const journal = await openSession(place);
    ack(['opened', journal.epoch]);
    for (let index = 0; index < 1 + (place.seed % 3); index += 1) {
      const { seq } = await journal.append({ type: 'note', id: `n${index}`, body: { index } });
      ack(['event', `n${index}`, seq]);
    }
    const batch = ['x', 'y'].map(
      (name) => /** @type {const} */ ({ kind: 'event', type: 'note', id: name, body: { name } }),
    );
    const places = await journal.appendBatch(batch);
    for (const [index, { seq }] of places.entries()) ack(['event', ['x', 'y'][index] ?? '', seq]);
    await journal.close();
    ack(['opened', (await openSession(place)).epoch]);
    // The second owner is inside when the crash comes.
  },
  recover: async (place, { acked, ack }) => {
    const journal = await openSession(place);
    for (const [what, epoch] of acked)
      if (what === 'opened')
        assert.ok(journal.epoch > Number(epoch), `epoch ${journal.epoch} after ${String(epoch)}`);
    ack(['opened', journal.epoch]);
    const name = `recovered-${journal.epoch}`;
    ack(['event', name, (await journal.append({ type: 'note', id: name, body: { name } })).seq]);
  },
  check: async (place, { acked }) => {
    const journal = await openSession(place);
    /** @type {Map<string, number>} */
    const places = new Map();
    for await (const event of journal.events()) {
      assert.ok(!places.has(event.id), `${event.id} stands twice`);
      places.set(event.id, event.seq);
    }
    for (const [what, name, seq] of acked)
      if (what === 'event') assert.equal(places.get(String(name)), seq, `event ${String(name)}`);
    assert.equal(places.has('x'), places.has('y'), 'half of a batch');
    await journal.verify();
    await journal.close();
  },
};

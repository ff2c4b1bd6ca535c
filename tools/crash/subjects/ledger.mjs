import assert from 'node:assert/strict';

import { seededRandom } from '@holdfast/base/testing';
import { LedgerConflictError } from '@holdfast/journal';

import { openModelLedger } from '../model-ledger.mjs';

/** @typedef {import('../subject.mjs').Place} Place */

const name = 'log';

/** @param {Place} place */
const open = ({ fileSystem, directory }) => openModelLedger(fileSystem, `${directory}/ledger`);

/** @param {string} text */
const record = (text) => new TextEncoder().encode(text);

/** @type {import('../subject.mjs').Subject} */
export const ledger = {
  name: 'ledger append',
  promises:
    'an acknowledged record stands once, at its place, whole; a batch is there as a whole or not at all',
  run: async (place, { ack }) => {
    const random = seededRandom(place.seed);
    const [one, two] = [open(place), open(place)];
    let tip = 0;
    for (let turn = 0; turn < 3; turn += 1) {
      const batch = Array.from(
        { length: 1 + random.below(3) },
        (_, index) => `run ${turn} ${index} of batch`,
      );
      await one.append(name, tip, batch.map(record));
      for (const text of batch) ack([(tip += 1), text]);
    }
    const outcomes = await Promise.allSettled(
      [one, two].map(async (ledger, index) => {
        await ledger.append(name, tip, [record(`contender ${index}`)]);
        ack([tip + 1, `contender ${index}`]);
      }),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, 'one has the place');
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        assert.ok(LedgerConflictError.is(outcome.reason), String(outcome.reason));
  },
  recover: async (place, { ack }) => {
    const ledger = open(place);
    const tip = await ledger.tip(name);
    await ledger.append(name, tip, [record('recovered')]);
    ack([tip + 1, 'recovered']);
  },
  check: async (place, { acked }) => {
    const ledger = open(place);
    /** @type {string[]} */
    const texts = [];
    for await (const { data } of ledger.read(name)) texts.push(new TextDecoder().decode(data));
    for (const [seq, text] of acked) assert.equal(texts[Number(seq) - 1], text, `record ${String(seq)}`);
    for (const turn of [0, 1, 2]) {
      const seen = texts.filter((text) => text.startsWith(`run ${turn} `));
      const random = seededRandom(place.seed);
      const sizes = [0, 1, 2].map(() => 1 + random.below(3));
      assert.ok(
        seen.length === 0 || seen.length === sizes[turn],
        `half of batch ${turn}: ${seen.join(', ')}`,
      );
    }
    assert.ok(texts.filter((text) => text.startsWith('contender')).length < 2, texts.join(', '));
  },
};

#!/usr/bin/env node
/**
 * Explores the crashes of whole protocols on the strict model of a disk: `node tools/crash/crash.mjs --single 50000
 * --double 200000`. Goes round the subjects with one seed after the other until so many disks were recovered and
 * checked, each subject its share; `--subject` names some of them, `--seed` is the first seed. Ends at the first
 * counterexample, and prints it.
 *
 * An exploration visits moments in an order drawn from the seed, up to a number of disks. A moment of the last crash has
 * every combination of up to twelve pending changes, beyond that samples. The first of two crashes is drawn.
 */
import { parseArgs } from 'node:util';

import { countForCampaign } from '../campaign/count.mjs';
import { Tally } from '../shared/tally.mjs';
import { exploreSubject } from './explore.mjs';
import { subjects } from './subjects/index.mjs';

const { values } = parseArgs({
  options: {
    single: { type: 'string', default: process.env['HOLDFAST_SINGLE_STATES'] ?? '2000' },
    double: { type: 'string', default: process.env['HOLDFAST_DOUBLE_STATES'] ?? '4000' },
    seed: { type: 'string', default: process.env['HOLDFAST_SEED'] ?? '1' },
    subject: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
  },
});
const chosen = subjects.filter(({ name }) => values.subject.length === 0 || values.subject.includes(name));
if (chosen.length === 0 || values.list) {
  for (const { name, promises } of subjects) console.log(`${name}: ${promises}`);
  process.exit(values.list ? 0 : 2);
}

/** Disks that one exploration visits at most, of single and of double crashes; a begun moment is finished. */
const perExploration = { 1: 3_000, 2: 1_000 };
/** A slow subject has this part of another one's share. */
const slowShare = 1 / 20;
const tally = new Tally();

/**
 * @typedef {object} Row
 * @property {import('./subject.mjs').Subject} subject
 * @property {number} share
 * @property {number} states
 * @property {number} seconds Of the processor.
 * @property {number} seeds
 * @property {Record<'whole' | 'sampled' | 'cut' | 'leftOut', number>} moments Of the last crash.
 */

/** @param {1 | 2} crashes @param {number} wanted */
async function explore(crashes, wanted) {
  const unit = crashes === 1 ? 'disks after one crash' : 'disks after two crashes';
  /** @type {Row[]} */
  const rows = chosen.map((subject) => ({
    subject,
    share: subject.slow === true ? slowShare : 1,
    states: 0,
    seconds: 0,
    seeds: 0,
    moments: { whole: 0, sampled: 0, cut: 0, leftOut: 0 },
  }));
  for (let total = 0; total < wanted; ) {
    // Whoever has had the least of its share.
    const row = rows.reduce((least, other) =>
      other.states / other.share < least.states / least.share ? other : least,
    );
    const before = process.cpuUsage();
    const report = await exploreSubject(row.subject, {
      seed: Number(values.seed) + row.seeds,
      crashes,
      shuffle: true,
      wholeMoments: true,
      fewestCrashes: crashes,
      maxStates: Math.ceil(perExploration[crashes] * row.share),
      maxStatesPerRecovery: 24,
    });
    const { user, system } = process.cpuUsage(before);
    const states = report.states[crashes - 1] ?? 0;
    const moments = report.moments[crashes - 1] ?? row.moments;
    row.states += states;
    row.seeds += 1;
    row.seconds += (user + system) / 1e6;
    for (const kind of /** @type {const} */ (['whole', 'sampled', 'cut', 'leftOut']))
      row.moments[kind] += moments[kind];
    total += states;
    countForCampaign(unit, states);
  }
  for (const { subject, states, seconds, seeds, moments } of rows) {
    if (seeds === 0) continue;
    console.log(
      `${subject.name}: ${states} ${unit}, seeds ${values.seed}–${Number(values.seed) + seeds - 1}, ` +
        `moments: ${moments.whole} with every combination, ${moments.sampled} sampled, ${moments.cut} cut, ` +
        `${moments.leftOut} left out; ${seconds.toFixed(1)} s of processor`,
    );
  }
}

try {
  await explore(1, Number(values.single));
  tally.count(true);
  await explore(2, Number(values.double));
  tally.count(true);
} catch (error) {
  tally.count(false);
  console.error(error);
}
console.log(String(tally));
process.exitCode = tally.exitCode;

#!/usr/bin/env node
/**
 * Explores the crashes of whole protocols on the strict model of a disk: `node tools/crash/crash.mjs --single 50000
 * --double 200000`. Goes round the subjects with one seed after the other until so many disks were recovered and
 * checked; `--subject` names some of them, `--seed` is the first seed. Ends at the first counterexample, and prints it.
 *
 * An exploration of single crashes visits every moment of a run; up to twelve pending changes in every combination,
 * beyond that samples. One of double crashes visits moments in an order drawn from the seed.
 */
import { parseArgs } from 'node:util';

import { countForCampaign } from '../campaign/count.mjs';
import { Tally } from '../shared/tally.mjs';
import { exploreSubject } from './explore.mjs';
import { subjects } from './subjects/index.mjs';

/** @typedef {import('./subject.mjs').Subject} Subject */

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

/** Disks that one exploration visits at most, of single and of double crashes. */
const perExploration = { 1: 3_000, 2: 1_000 };
const tally = new Tally();

/** @param {1 | 2} crashes @param {number} wanted */
async function explore(crashes, wanted) {
  const unit = crashes === 1 ? 'disks after one crash' : 'disks after two crashes';
  /** @type {Map<string, { states: number, seconds: number, seeds: number, exhaustive: number }>} */
  const done = new Map(chosen.map(({ name }) => [name, { states: 0, seconds: 0, seeds: 0, exhaustive: 0 }]));
  let total = 0;
  for (let seed = Number(values.seed); total < wanted; seed += 1) {
    for (const subject of chosen) {
      if (total >= wanted) break;
      const row = done.get(subject.name);
      if (row === undefined) continue;
      const started = performance.now();
      const report = await exploreSubject(subject, {
        seed,
        crashes,
        shuffle: true,
        fewestCrashes: crashes,
        maxStates: subject.slow === true ? perExploration[crashes] / 20 : perExploration[crashes],
        maxStatesPerRecovery: 24,
      });
      const states = crashes === 1 ? (report.states[0] ?? 0) : (report.states[1] ?? 0);
      row.states += states;
      row.seeds += 1;
      row.seconds += (performance.now() - started) / 1_000;
      if (report.exhaustive && !report.truncated) row.exhaustive += 1;
      total += states;
      countForCampaign(unit, states);
    }
  }
  for (const [name, { states, seconds, seeds, exhaustive }] of done) {
    if (seeds === 0) continue;
    console.log(
      `${name}: ${states} ${unit}, seeds ${values.seed}–${Number(values.seed) + seeds - 1}, ${exhaustive} of them exhaustive, ${seconds.toFixed(1)} s`,
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

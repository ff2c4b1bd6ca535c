#!/usr/bin/env node
/**
 * Gives every decoder inputs that are almost right: `node tools/fuzz/fuzz.mjs --count 200000`. Each is accepted, or
 * refused with an error of ours; nothing hangs. `--count` is for the strict tar reader, other targets get their share;
 * `--target` names some, `--seed` begins elsewhere. What goes wrong is printed with its smallest input, in hex: put it
 * into `corpus/<target>/`, with which every run begins. `--targets` takes the decoders of another module.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';

import { countForCampaign } from '../campaign/count.mjs';
import { Tally } from '../shared/tally.mjs';

/** @typedef {import('./target.mjs').Target} Target */

/** An input that takes longer hangs. */
const patienceMs = Number(process.env['HOLDFAST_FUZZ_PATIENCE'] ?? 30_000);

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: process.env['HOLDFAST_FUZZ_INPUTS'] ?? '2000' },
    seed: { type: 'string', default: process.env['HOLDFAST_SEED'] ?? '1' },
    target: { type: 'string', multiple: true, default: [] },
    corpus: { type: 'string' },
    targets: { type: 'string', default: new URL('targets/index.mjs', import.meta.url).href },
    list: { type: 'boolean', default: false },
  },
});
/** @type {{ targets: readonly Target[] }} */
const { targets } = await import(values.targets);
const chosen = targets.filter(({ name }) => values.target.length === 0 || values.target.includes(name));
if (values.list || chosen.length === 0) {
  for (const { name, what } of targets) console.log(`${name}: ${what}`);
  process.exit(values.list ? 0 : 2);
}
const tally = new Tally();
const seed = Number(values.seed);

/** @param {Target} target @returns {Promise<number>} How much is wrong. */
async function fuzz(target) {
  // The reader of foreign files gets all of it; what only reads our own bytes a twentieth.
  const count = Math.ceil(
    (Number(values.count) * (target.share ?? 1)) / (target.name === 'tar-reader' ? 1 : 20),
  );
  const turn = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('worker.mjs', import.meta.url), {
    workerData: { target: target.name, seed, count, turn, corpus: values.corpus, targets: values.targets },
  });
  let wrong = 0;
  /** @param {{ where: string, problem: string, input?: string }} found */
  const report = ({ where, problem, input }) => {
    wrong += 1;
    console.error(`${target.name}, seed ${seed}, ${where}: ${problem}`);
    if (input !== undefined)
      console.error(`  input: ${input.length > 4_000 ? `${input.slice(0, 4_000)}…` : input}`);
  };
  worker.on('message', report);
  const started = performance.now();
  await new Promise((resolve) => {
    let last = { turn: -1, at: performance.now() };
    const watch = setInterval(() => {
      const now = Atomics.load(turn, 0);
      if (now !== last.turn) last = { turn: now, at: performance.now() };
      else if (performance.now() - last.at > patienceMs) {
        report({ where: `turn ${now}`, problem: `no end after ${patienceMs} ms` });
        clearInterval(watch);
        resolve(worker.terminate());
      }
    }, 500);
    worker.once('error', (error) => {
      report({ where: `after turn ${Atomics.load(turn, 0)}`, problem: `ended the thread: ${String(error)}` });
    });
    worker.once('exit', () => {
      clearInterval(watch);
      resolve(undefined);
    });
  });
  const done = Atomics.load(turn, 0);
  const what = target.name === 'tar-reader' ? 'inputs of the strict tar reader' : 'inputs of other decoders';
  countForCampaign(what, done);
  const seconds = (performance.now() - started) / 1_000;
  console.log(`${target.name}: ${done} inputs, seed ${seed}, ${wrong} wrong, ${seconds.toFixed(1)} s`);
  return wrong;
}

for (const target of chosen) tally.count((await fuzz(target)) === 0);
console.log(String(tally));
process.exitCode = tally.exitCode;

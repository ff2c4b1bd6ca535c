#!/usr/bin/env node
/**
 * Tries to break Holdfast for as long as it is given: `npm run campaign -- --minutes 60`. Every round of a campaign is
 * a child process of low priority with a time limit and a seed of its own; what was done is kept in `.campaign/` after
 * each, and `--resume` goes on from there. `--lanes 3` runs three campaigns beside each other: those that stop and kill
 * processes mostly wait. Ends with a dated report in `docs/evidence/`.
 *
 * `--ci` runs each campaign once, with the counts of the bounded table, and writes no report. The last line is a total.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { Tally } from '../shared/tally.mjs';
import { repositoryRoot } from '../shared/workspace.mjs';
import { describeMachine } from './machine.mjs';
import { writeReport } from './report.mjs';
import { runRound } from './run-round.mjs';
import { nextCampaign, nextSeed } from './schedule.mjs';
import { emptyState, progressOf, readState, writeState } from './state.mjs';
import { campaigns } from './table.mjs';

/** @typedef {import('./table.mjs').Campaign} Campaign */
/** @typedef {import('./state.mjs').State} State */

/** A round that starts shortly before the end may take this long beyond it. */
const graceMs = 120_000;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    lanes: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true, default: [] },
    seed: { type: 'string' },
    resume: { type: 'boolean', default: false },
    ci: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    state: { type: 'string', default: path.join(repositoryRoot, '.campaign', 'state.json') },
    report: { type: 'string', default: path.join(repositoryRoot, 'docs', 'evidence') },
  },
});

const unknown = values.only.filter((name) => !campaigns.some((campaign) => campaign.name === name));
const minutes = Number(values.minutes);
const lanes = Number(values.lanes);
const seed = Number(values.seed ?? (values.ci ? 1 : Date.now() % 1_000_000));
if (unknown.length > 0 || !(minutes > 0) || !(lanes >= 1 && lanes <= 8) || !Number.isSafeInteger(seed)) {
  if (unknown.length > 0) console.error(`no such campaign: ${unknown.join(', ')}; --list names them`);
  else console.error('--minutes is a number above 0, --lanes one from 1 to 8, --seed a whole number');
  process.exit(2);
}
const chosen = campaigns.filter(({ name }) => values.only.length === 0 || values.only.includes(name));

if (values.list) {
  for (const { name, package: tried, proves, goal } of chosen) {
    console.log(`${name} (${tried}): ${proves}`);
    console.log(`  long: ${goal === undefined ? 'one round' : `${goal.count} ${goal.unit}`}`);
  }
  process.exit(0);
}
process.exitCode = values.ci ? await runBounded() : await runLong();

/** Each once, with the counts of CI, two beside each other: a single one leaves a processor idle most of the time. */
async function runBounded() {
  const tally = new Tally();
  /** @type {string[]} */
  const leftOut = [];
  const waiting = chosen.filter((campaign) => {
    if (campaign.onlyLong !== true || values.only.length > 0) return true;
    leftOut.push(`${campaign.name}: another step of .ci/run runs it with its bounded counts`);
    return false;
  });
  const lane = async () => {
    for (let campaign = waiting.shift(); campaign !== undefined; campaign = waiting.shift()) {
      const result = await runRound(campaign, {
        bounded: true,
        seed,
        limitMs: campaign.limitSeconds * 1_000,
      });
      say(campaign, seed, result);
      tally.count(result.ok);
      if (result.leftOut !== undefined) leftOut.push(`${campaign.name}: ${result.leftOut}`);
    }
  };
  await Promise.all([lane(), lane()]);
  console.log('\nleft out:');
  for (const entry of leftOut) console.log(`  ${entry}`);
  console.log(String(tally));
  return tally.exitCode;
}

/** By turns until the time is over or every goal is reached. */
async function runLong() {
  const state = (values.resume ? readState(values.state) : undefined) ?? emptyState();
  const tally = new Tally();
  const deadline = Date.now() + minutes * 60_000;
  let ended = false;
  const stop = () => {
    ended = true;
    console.log('ending after this round');
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  console.log(
    `campaigns for ${minutes} minutes in ${lanes} lane(s), first seed ${seed}; state in ${values.state}`,
  );
  /** @type {Set<Campaign>} */
  const running = new Set();
  const lane = async () => {
    while (!ended && Date.now() < deadline) {
      const campaign = nextCampaign(
        chosen.filter((one) => !running.has(one)),
        state,
        seed,
      );
      if (campaign === undefined) return;
      running.add(campaign);
      const counted = await longRound(campaign, state, tally, deadline);
      running.delete(campaign);
      if (!counted) return;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await report(state);
  console.log(String(tally));
  return tally.exitCode;
}

/**
 * One round, noted in the state. `false`: the time was over before its end, and it does not count.
 * @param {Campaign} campaign
 * @param {State} state
 * @param {Tally} tally
 * @param {number} deadline
 */
async function longRound(campaign, state, tally, deadline) {
  const progress = progressOf(state, campaign.name, seed);
  const roundSeed = nextSeed(progress);
  const left = deadline - Date.now() + graceMs;
  const limitMs = Math.min(campaign.limitSeconds * 1_000, left);
  const result = await runRound(campaign, { bounded: false, seed: roundSeed, limitMs });
  if (!result.ok && limitMs === left && result.seconds * 1_000 >= left) {
    console.log(`${campaign.name}: not finished when the time was over; not counted`);
    return false;
  }
  say(campaign, roundSeed, result);
  tally.count(result.ok);
  progress.rounds += 1;
  progress.seconds += result.seconds;
  state.seconds += result.seconds;
  progress.leftOut = result.leftOut;
  for (const [unit, count] of Object.entries(result.counts))
    progress.counts[unit] = (progress.counts[unit] ?? 0) + count;
  if (!result.ok) progress.violations.push({ seed: roundSeed, round: progress.rounds, story: result.story });
  writeState(values.state, state);
  return true;
}

/** @param {State} state */
async function report(state) {
  const ended = new Date().toISOString();
  // What repeats it; where the state and the report are is a matter of this machine.
  const options = [
    `--minutes ${values.minutes} --lanes ${values.lanes} --seed ${seed}`,
    ...values.only.map((name) => `--only ${name}`),
  ].join(' ');
  const machine = await describeMachine(repositoryRoot);
  mkdirSync(values.report, { recursive: true });
  const file = path.join(values.report, `${ended.slice(0, 10)}-campaign.md`);
  writeFileSync(file, writeReport({ campaigns: chosen, state, machine, ended, options }));
  console.log(`report: ${path.relative(repositoryRoot, file)}`);
}

/** @param {Campaign} campaign @param {number} roundSeed @param {import('./run-round.mjs').RoundResult} result */
function say(campaign, roundSeed, result) {
  const counts = Object.entries(result.counts).map(([unit, count]) => `${count} ${unit}`);
  const what = result.leftOut === undefined ? counts.join(', ') : `left out: ${result.leftOut}`;
  console.log(
    `${result.ok ? 'ok  ' : 'FAIL'} ${campaign.name} seed ${roundSeed} ${result.seconds.toFixed(0)} s  ${what}`,
  );
  if (!result.ok) console.log(result.story);
}

#!/usr/bin/env node
/**
 * Takes real disks away: ext4 and xfs on loop devices, shut down without writing anything back just before a change of
 * a subject's run; then mounted again, recovered and checked. `--points N` for each file system. Needs root; says what
 * it left out and why. `HOLDFAST_PLANTED=no-syncs` leaves out every sync, to see that this is noticed.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { seededRandom } from '@holdfast/base/testing';

import { countForCampaign } from '../../campaign/count.mjs';
import { run } from '../../shared/process.mjs';
import { Tally } from '../../shared/tally.mjs';
import { subjects } from '../subjects/index.mjs';
import { LoopDisk, obstacle } from './loop-disk.mjs';

/** @typedef {import('./loop-disk.mjs').DiskType} DiskType */

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: process.env['HOLDFAST_DISK_POINTS'] ?? '9' },
    seed: { type: 'string', default: process.env['HOLDFAST_SEED'] ?? '1' },
    type: { type: 'string', multiple: true, default: ['ext4', 'xfs'] },
    subject: { type: 'string', multiple: true, default: [] },
  },
});
const program = fileURLToPath(new URL('step.mjs', import.meta.url));
const levelProgram = fileURLToPath(new URL('level-step.mjs', import.meta.url));
const chosen = subjects.filter(({ name }) => values.subject.length === 0 || values.subject.includes(name));
const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-disks-'));
const tally = new Tally();

/** @param {string} step @param {readonly string[]} args */
async function runStep(step, args) {
  return await run(process.execPath, [program, step, ...args], { timeoutMs: 120_000 });
}

/**
 * One point: set up, run until the disk is gone, mount, recover, check.
 * @param {LoopDisk} disk
 * @param {number} point
 * @returns {Promise<string | undefined>} What went wrong.
 */
async function takeAway(disk, point) {
  const subject = chosen[point % chosen.length];
  if (subject === undefined) throw new Error('there is no such subject');
  const seed = Number(values.seed) + Math.floor(point / chosen.length);
  const random = seededRandom(Number(values.seed) * 1_009 + point);
  /** @param {string} what */
  const placeOf = (what) => {
    const directory = path.join(disk.mountPoint, `${what}-${point}`);
    mkdirSync(directory);
    return [subject.name, String(seed), directory, path.join(scratch, `${disk.type}-${what}-${point}`)];
  };
  const whole = placeOf('whole');
  const doomed = placeOf('doomed');
  for (const place of [whole, doomed]) {
    const { code, output } = await runStep('setup', place);
    if (code !== 0) return `${subject.name}: setup failed\n${output}`;
  }
  const counted = await runStep('run', whole);
  if (counted.code !== 0)
    return `${subject.name}, seed ${seed}: the run fails without any crash\n${counted.output}`;
  const changes = Number(counted.stdout.trim().split('\n').at(-1));
  const at = 1 + random.below(changes);
  await run('sync', ['-f', disk.mountPoint]);
  const ended = await runStep('run', [...doomed, String(at), disk.mountPoint]);
  const where = `${disk.type}, ${subject.name}, seed ${seed}, disk taken away before change ${at} of ${changes}`;
  if (ended.signal !== 'SIGKILL' || ended.timedOut) return `${where}: it did not end there\n${ended.output}`;
  await disk.remount();
  const checked = await runStep('check', doomed);
  countForCampaign(`crash points on ${disk.type}`, 1);
  return checked.code === 0 ? undefined : `${where}\n${checked.output}`;
}

/**
 * The same for a session in a `level` database, whose writes are not ours to count: after some acknowledgements.
 * @param {LoopDisk} disk
 * @param {number} point
 * @returns {Promise<string | undefined>} What went wrong.
 */
async function takeAwayLevel(disk, point) {
  const acks = 1 + seededRandom(Number(values.seed) * 2_003 + point).below(60);
  const directory = path.join(disk.mountPoint, `level-${point}`);
  const facts = path.join(scratch, `${disk.type}-level-${point}`);
  const limit = { timeoutMs: 120_000 };
  const ended = await run(
    process.execPath,
    [levelProgram, 'run', directory, facts, String(acks), disk.mountPoint],
    limit,
  );
  const where = `${disk.type}, level, disk taken away after ${acks} acknowledgements`;
  await disk.remount();
  if (ended.timedOut || ended.signal !== 'SIGKILL') return `${where}: it did not end there\n${ended.output}`;
  const checked = await run(process.execPath, [levelProgram, 'check', directory, facts], limit);
  countForCampaign(`crash points of level on ${disk.type}`, 1);
  return checked.code === 0 ? undefined : `${where}\n${checked.output}`;
}

/** @param {DiskType} type */
async function campaign(type) {
  const reason = await obstacle(scratch, type);
  if (reason !== undefined) {
    console.log(`left out: crash points on ${type}: ${reason}`);
    return;
  }
  const disk = new LoopDisk(scratch, type);
  const started = performance.now();
  let failed = 0;
  try {
    await disk.make();
    for (let point = 0; point < Number(values.points) && failed < 3; point += 1) {
      const problems = [await takeAway(disk, point)];
      if (point % 3 === 0 && values.subject.length === 0) problems.push(await takeAwayLevel(disk, point));
      for (const problem of problems) {
        if (problem === undefined) continue;
        failed += 1;
        console.error(problem);
      }
    }
  } finally {
    await disk.remove();
  }
  tally.count(failed === 0);
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  console.log(`${type}: ${values.points} points, seed ${values.seed}, ${failed} failed, ${seconds} s`);
}

try {
  for (const type of values.type) await campaign(/** @type {DiskType} */ (type));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(String(tally));
process.exitCode = tally.failed > 0 ? 1 : 0;

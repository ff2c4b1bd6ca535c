import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {object} Measure
 * @property {number} wall Seconds.
 * @property {number} cpu Seconds of user and system time, children included.
 * @property {number} [peakMiB] Largest resident set of the process.
 * @property {number} [delayP99Ms] How late timers were during it, beside what they always are.
 * @property {number} [delayMaxMs]
 * @property {Record<string, number>} [facts]
 * @property {Record<string, number>} [shares] Parts of `wall`, in seconds.
 */

/**
 * Runs a command and measures it and its children, without the shell that does so.
 * @param {readonly string[]} command
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv, scratch: string, accepts?: readonly number[] }} options `scratch` holds a
 *   file for the times; `accepts`: exit statuses beside 0 that are no failure.
 * @returns {Measure}
 */
export function timed(command, options) {
  const times = path.join(options.scratch, 'times');
  const script = 'exec 3>&2; TIMEFORMAT="%3R %3U %3S"; { time "$@" 2>&3; } 2>"$0"';
  const result = spawnSync('bash', ['-c', script, times, ...command], {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ['ignore', 'ignore', 'pipe'],
    maxBuffer: 2 ** 26,
  });
  if (result.status !== 0 && !options.accepts?.includes(result.status ?? -1)) throw failed(command, result);
  const [wall = 0, user = 0, system = 0] = readFileSync(times, 'utf8').trim().split(' ').map(Number);
  return { wall, cpu: user + system };
}

/**
 * Runs what is not measured.
 * @param {readonly string[]} command
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv }} options
 */
export function must(command, options) {
  const [program = '', ...args] = command;
  const result = spawnSync(program, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  });
  if (result.status !== 0) throw failed(command, result);
  return String(result.stdout);
}

/**
 * @param {readonly string[]} command
 * @param {import('node:child_process').SpawnSyncReturns<Buffer>} result
 */
function failed(command, result) {
  const text = String(result.stderr ?? '').slice(0, 2000);
  return new Error(
    `${command.join(' ').slice(0, 300)}: exit status ${result.status}\n${text}${result.error ?? ''}`,
  );
}

/**
 * Writes back what earlier steps left in memory, so that nobody pays for somebody else's.
 */
export function settle() {
  spawnSync('sync');
}

/**
 * KiB that a directory takes on the disk.
 * @param {string} directory
 */
export function diskUse(directory) {
  return Number(must(['du', '-sk', directory], { cwd: '/' }).split('\t')[0]);
}

/**
 * Whether a program can be run.
 * @param {string} program
 */
export function isInstalled(program) {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

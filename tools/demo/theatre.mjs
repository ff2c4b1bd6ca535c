/** What the acts of the demo share: steps, proofs, the processes they start, and how numbers are shown. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { compareListings } from '../oracle/oracle.mjs';

/** @typedef {import('../oracle/oracle.mjs').OracleEntry} OracleEntry */
/** @typedef {import('../oracle/oracle.mjs').Difference} Difference */
/** @typedef {import('@holdfast/restore').RestorePlan} RestorePlan */

const here = path.dirname(fileURLToPath(import.meta.url));

/** The root of this repository. */
export const repository = path.resolve(here, '../..');
const command = path.join(repository, 'node_modules/.bin/holdfast');

/** Only processes that this program started are ever signalled. */
/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set();

/** Ends what is still running. */
export function endChildren() {
  for (const child of children) child.kill('SIGKILL');
}

/** @param {string} text */
export function step(text) {
  process.stdout.write(`${text}\n`);
}

/**
 * @param {boolean} holds
 * @param {string} message
 */
export function check(holds, message) {
  if (!holds) throw new Error(message);
}

/**
 * Proves that a tree is what it has to be.
 * @param {readonly OracleEntry[]} expected
 * @param {readonly OracleEntry[]} found
 * @param {string} when
 */
export function checkEqual(expected, found, when) {
  const differences = compareListings(expected, found);
  check(
    differences.length === 0,
    `the oracle sees ${differences.length} differences ${when}: ${JSON.stringify(differences.slice(0, 3))}`,
  );
}

/**
 * Proves that a plan names exactly the paths in which the oracle sees the live tree differ from the target.
 * @param {RestorePlan} plan
 * @param {readonly OracleEntry[]} live
 * @param {readonly OracleEntry[]} target
 * @returns {number} How many paths.
 */
export function checkPlan(plan, live, target) {
  const { create, replace, chmod, retype, mkdir } = plan;
  const named = [create, replace, chmod, retype, plan.delete, mkdir].flat().map((change) => change.path);
  const seen = new Set(compareListings(live, target).map((difference) => difference.path));
  const planned = new Set(named);
  const odd = [...[...seen].filter((name) => !planned.has(name)), ...named.filter((name) => !seen.has(name))];
  check(odd.length === 0, `plan and oracle disagree about ${odd.slice(0, 5).join(', ')}`);
  return seen.size;
}

/**
 * Starts an agent process, which speaks JSON lines on its output and takes words on its input.
 * @param {readonly string[]} words
 */
export function startAgent(words) {
  const child = spawn(process.execPath, [path.join(here, 'agent.mjs'), ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.add(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    child.once('close', () => {
      children.delete(child);
      resolve();
    });
  });
  return {
    pid: child.pid,
    ended,
    kill: (/** @type {NodeJS.Signals} */ signal) => child.kill(signal),
    say: (/** @type {string} */ word) => child.stdin.write(`${word}\n`),
    next: async (/** @type {string} */ kind) => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the agent ended while ${kind} was expected`);
      const message = JSON.parse(value);
      if (message.kind !== kind) throw new Error(`the agent said ${value} where ${kind} was expected`);
      return message;
    },
  };
}

/**
 * Runs the installed command and returns what it prints as JSON.
 * @param {readonly string[]} words
 */
export async function holdfast(words) {
  const child = spawn(command, [...words, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  /** @type {Buffer[]} */
  const parts = [];
  child.stdout.on('data', (part) => parts.push(part));
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  children.delete(child);
  if (code !== 0) throw new Error(`holdfast ${words[0]} ended with ${code}`);
  return JSON.parse(Buffer.concat(parts).toString('utf8'));
}

/**
 * Waits until a process is gone that somebody else has to end.
 * @param {number} pid
 */
export async function gone(pid) {
  const deadline = performance.now() + 10_000;
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    check(performance.now() < deadline, `process ${pid} outlived the agent that had started it`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** @param {readonly { seq: number, time: number, type: string, trigger?: string, ref?: string }[]} timeline */
export function showTimeline(timeline) {
  for (const { seq, time, type, trigger, ref } of timeline) {
    const at = new Date(time).toISOString().slice(11, 23);
    const why = trigger === undefined ? '' : ` (${trigger})`;
    step(`    ${String(seq).padStart(3)} ${at} ${type}${why}${ref === undefined ? '' : ` ${short(ref)}`}`);
  }
}

/** @param {RestorePlan} plan */
export function planLine(plan) {
  return (
    `${plan.create.length} to create, ${plan.replace.length} to replace, ${plan.delete.length} to delete, ` +
    `${plan.chmod.length} modes, ${plan.mkdir.length} directories, ${plan.keep} kept, ${bytes(plan.bytes)}`
  );
}

/** @param {string | undefined} ref */
export function short(ref) {
  return ref === undefined ? 'nothing' : ref.slice(0, 'v1:sha256:'.length + 12);
}

/** @param {readonly OracleEntry[]} listing */
export function counts(listing) {
  const files = listing.filter((entry) => entry.kind === 'file');
  return `${listing.length} entries, ${files.length} files, ${bytes(files.reduce((sum, entry) => sum + (entry.size ?? 0), 0))}`;
}

/** @param {number} count */
export function bytes(count) {
  return count < 1024 * 1024 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

/** @param {number} duration */
export function ms(duration) {
  return duration < 1000 ? `${Math.round(duration)} ms` : `${(duration / 1000).toFixed(1)} s`;
}

/** @param {number} from */
export function since(from) {
  return ms(performance.now() - from);
}

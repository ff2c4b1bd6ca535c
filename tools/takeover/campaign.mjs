import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { seededRandom } from '@holdfast/base/testing';
import { memoryBlobs } from '@holdfast/blobs';
import { SessionExistsError, SessionStore } from '@holdfast/journal';
import { LeaseHeldError, LeaseLostError } from '@holdfast/lease';

import { judgeSession } from './verdict.mjs';

/**
 * What a campaign needs of an engine, opened anew in each process. A module exports `openEngine(env)`; what it needs to know
 * comes from the environment.
 * @typedef {object} Engine
 * @property {import('@holdfast/journal').SessionLedgers} ledgers
 * @property {import('@holdfast/lease').Leaser} leaser
 * @property {() => Promise<void>} close
 */

/**
 * @typedef {object} CampaignOptions
 * @property {string} engine File URL of the engine's module.
 * @property {number} takeovers How many to reach.
 * @property {number} [seed] Who is stopped, killed and woken, and when; `HOLDFAST_SEED` or the time by default. The processes
 *   race all the same: a seed repeats what was tried, not what came of it.
 * @property {number} [sessions] How many are taken over at the same time. Default 4.
 * @property {NodeJS.ProcessEnv} env For the writers, and for this process to open the engine.
 * @property {number} [patienceMs] Longest wait for one take-over. Default 300,000: a busy machine is slow, not wrong.
 * @property {(random: import('@holdfast/base/testing').SeededRandom) => Promise<void>} [disturb] Called again and again
 *   during the campaign, such as to kill the server.
 */

/**
 * @typedef {object} CampaignResult
 * @property {number} seed
 * @property {number} seconds
 * @property {number} takeovers Sessions opened after their owner was stopped or killed.
 * @property {number} stopped
 * @property {number} killed
 * @property {number} acknowledged
 * @property {number} fenced Writers that woke up and were refused by the journal.
 * @property {number} told Writers that woke up and heard of their loss from the lease.
 * @property {number} records
 * @property {readonly string[]} problems Lost, duplicated and misplaced appends, broken chains, complaints of writers.
 */

const script = fileURLToPath(new URL('writer.mjs', import.meta.url));

/**
 * Take-overs by processes: two writers fight for each session. The owner is stopped at a random moment, or killed; when the
 * other one has taken over, the stopped one wakes up in the middle of whatever it was doing. In the end every acknowledged
 * append must be in its journal exactly once, at its place, in its epoch, and epochs must never fall. Every second writer is
 * reckless: it never hears that its lease is lost, so that only the fence is left.
 * @param {CampaignOptions} options
 * @returns {Promise<CampaignResult>}
 */
export async function runTakeovers(options) {
  const engine = await openEngineOf(options.engine, options.env);
  const store = await SessionStore.open({ ...engine, blobs: memoryBlobs() });
  const sessions = Array.from(
    { length: options.sessions ?? 4 },
    (_, at) => `session-${String(at).padStart(4, '0')}`,
  );
  for (const id of sessions) await create(store, id);
  const seed = options.seed ?? Number(process.env['HOLDFAST_SEED'] ?? Date.now() % 1_000_000);
  const began = performance.now();

  const counts = { takeovers: 0, stopped: 0, killed: 0, acknowledged: 0, fenced: 0, told: 0, records: 0 };
  /** @type {string[]} */
  const problems = [];
  let over = false;
  const disturbing = (async () => {
    const random = seededRandom(seed);
    while (!over && options.disturb !== undefined) await options.disturb(random);
  })().catch((/** @type {unknown} */ error) => problems.push(`disturbance: ${String(error)}`));

  /** @param {string} session @param {number} at */
  const fight = async (session, at) => {
    const random = seededRandom(seed + 1 + at);
    /** @type {{ id: string, seq: number, epoch: number }[]} */
    const acknowledged = [];
    /** @type {Promise<unknown>[]} */
    const ended = [];
    let writers = 0;
    /** @type {Writer | undefined} */
    let owner;
    /** @type {(() => void) | undefined} */
    let noticed;

    /** @typedef {{ child: import('node:child_process').ChildProcess, acknowledged: number }} Writer */
    const start = () => {
      writers += 1;
      const manner = writers % 2 === 0 ? 'reckless' : 'careful';
      const draw = String(random.below(2 ** 32));
      const args = [script, options.engine, session, `${session}-w${writers}`, manner, draw];
      const child = spawn(process.execPath, args, { stdio: 'pipe', env: options.env });
      /** @type {Writer} */
      const writer = { child, acknowledged: 0 };
      let complaint = '';
      child.stderr.on('data', (text) => {
        complaint += String(text);
      });
      const reading = (async () => {
        for await (const line of createInterface({ input: child.stdout })) {
          const message = JSON.parse(line);
          if (message.acknowledged !== undefined) {
            acknowledged.push({ id: message.acknowledged, seq: message.seq, epoch: message.epoch });
            writer.acknowledged += 1;
            noticed?.();
          }
          if (message.shutOut === 'JOURNAL_FENCED') counts.fenced += 1;
          if (message.shutOut === 'LEASE_LOST') counts.told += 1;
          if (message.opened !== undefined) {
            owner = writer;
            noticed?.();
          }
        }
      })();
      ended.push(
        Promise.all([reading, once(child, 'exit')]).then(() => {
          if (complaint !== '') problems.push(complaint);
        }),
      );
      return writer;
    };

    /** @param {() => boolean} reached @param {string} otherwise What is wrong when it is not reached. */
    const until = async (reached, otherwise) => {
      // Counted in pauses of this process: when the whole machine stands still, nobody is late.
      let pauses = (options.patienceMs ?? 300_000) / 500;
      while (!reached()) {
        if (pauses <= 0) throw new Error(`${session}: ${otherwise}`);
        const news = new Promise((resolve) => {
          noticed = () => resolve(true);
        });
        if ((await Promise.race([sleep(500), news])) !== true) pauses -= 1;
      }
    };

    const running = new Set([start(), start()]);
    try {
      await until(() => owner !== undefined, 'nobody opened it');
      while (counts.takeovers < options.takeovers && problems.length === 0) {
        const victim = /** @type {Writer} */ (owner);
        // At any moment, but not always before its first append, however slow the machine is.
        const appends = victim.acknowledged + random.below(4);
        const pause = random.next() * 60;
        await until(() => owner !== victim || victim.acknowledged >= appends, 'its owner appends nothing');
        await sleep(pause);
        // It lost its lease by itself.
        if (owner !== victim) continue;
        const kill = random.next() < 0.15;
        victim.child.kill(kill ? 'SIGKILL' : 'SIGSTOP');
        if (kill) {
          running.delete(victim);
          running.add(start());
        }
        counts[kill ? 'killed' : 'stopped'] += 1;
        await until(() => owner !== victim, 'nobody took it over');
        counts.takeovers += 1;
        // It goes on where it was, believing what it believed.
        if (!kill) victim.child.kill('SIGCONT');
      }
    } catch (error) {
      problems.push(String(error));
    }
    // Whoever was woken last still has to meet the fence.
    await sleep(300);
    for (const { child } of running) {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
    }
    await Promise.all(ended);
    counts.acknowledged += acknowledged.length;
    return acknowledged;
  };

  const outcomes = await Promise.all(sessions.map(fight));
  over = true;
  await disturbing;
  await untilThere(store, sessions[0] ?? '');
  for (const [at, session] of sessions.entries()) {
    const view = await store.read(session);
    const verdict = await view.verify().catch((/** @type {unknown} */ error) => {
      problems.push(`${session}: ${String(error)}`);
      return { records: 0 };
    });
    counts.records += verdict.records;
    const events = [];
    for await (const { id, seq, epoch } of view.events()) events.push({ id, seq, epoch });
    problems.push(...judgeSession(session, events, outcomes[at] ?? []));
    await view.close();
  }
  await store.close();
  await engine.close();
  const seconds = (performance.now() - began) / 1_000;
  return { seed, seconds, ...counts, problems: problems.slice(0, 20) };
}

/**
 * @param {string} module File URL.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Engine>}
 */
export async function openEngineOf(module, env) {
  /** @type {{ openEngine: (env: NodeJS.ProcessEnv) => Promise<Engine> }} */
  const { openEngine } = await import(module);
  return await openEngine(env);
}

/**
 * A machine that stands still for a while loses the lease of a session that it makes, before anybody fights for it.
 * @param {SessionStore} store
 * @param {string} id
 */
async function create(store, id) {
  for (let tries = 1; ; tries += 1) {
    try {
      await (await store.create({ id })).close();
      return;
    } catch (error) {
      if (SessionExistsError.is(error)) return;
      if (tries === 40 || !(LeaseLostError.is(error) || LeaseHeldError.is(error))) throw error;
      await sleep(250);
    }
  }
}

/**
 * A server that was started again a moment ago may not answer yet.
 * @param {SessionStore} store
 * @param {string} session
 */
async function untilThere(store, session) {
  for (let tries = 1; ; tries += 1) {
    try {
      await (await store.read(session)).close();
      return;
    } catch (error) {
      if (tries === 40 || /** @type {{ retryable?: unknown }} */ (error).retryable !== true) throw error;
      await sleep(250);
    }
  }
}

/** @param {CampaignResult} result */
export function describeCampaign(result) {
  return (
    `${result.takeovers} take-overs (${result.stopped} stopped, ${result.killed} killed): ${result.fenced} met the fence, ` +
    `${result.told} were told by the lease; ${result.acknowledged} acknowledged, ${result.records} records, ` +
    `${result.problems.length} problems, ${result.seconds.toFixed(0)} s, HOLDFAST_SEED=${result.seed}`
  );
}

/**
 * How many take-overs: `HOLDFAST_CAMPAIGN=1` is the long run, `HOLDFAST_ENGINE_TAKEOVERS` a number, otherwise the default.
 * @param {number} usual
 */
export function wantedTakeovers(usual) {
  if (process.env['HOLDFAST_CAMPAIGN'] === '1') return 3_000;
  return Number(process.env['HOLDFAST_ENGINE_TAKEOVERS'] ?? usual);
}

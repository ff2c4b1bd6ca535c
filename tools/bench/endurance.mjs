/** What cannot be compared with a peer: many checkpoints, large trees, aborts. */
import { rmSync } from 'node:fs';
import path from 'node:path';

import { listFiles } from './edits.mjs';
import { HoldfastHost } from './peers/holdfast.mjs';
import { must, settle } from './timed.mjs';

/** @typedef {import('./operations.mjs').Row} Row */

/**
 * @typedef {object} Options
 * @property {import('./trees.mjs').TreeKind} kind
 * @property {string} pristine
 * @property {string} directory
 * @property {number} seed
 * @property {(row: Row) => void} record
 */

/**
 * Checkpoints of ten files each, one after another, with the store tidied in between as a session does. `facts` hold
 * latencies in milliseconds, bytes, and what a restore on a fresh machine would fetch.
 * @param {Options} options
 * @param {number} count
 */
export async function manyCheckpoints(options, count) {
  await onCopy(options, async (base, work) => {
    const host = new HoldfastHost(base, work);
    await host.call('first');
    const files = listFiles(options.pristine);
    const { facts } = await host.call('checkpoints', { count, files, seed: options.seed * 1000 });
    options.record({
      tree: options.kind.name,
      peer: 'holdfast',
      operation: `${count} checkpoints of ten files`,
      facts: facts ?? {},
    });
    await host.close();
  });
}

/**
 * Memory, event-loop delay and aborts of a first snapshot; each in a process of its own.
 * @param {Options} options
 */
export async function strain(options) {
  await onCopy(options, async (base, work) => {
    const row = { tree: options.kind.name, peer: 'holdfast' };
    for (const [round, afterMs] of [50, 300, 900, 1500, 2500].entries()) {
      const host = new HoldfastHost(path.join(base, `abort-${round}`), work);
      const measure = await host.call('abort', afterMs);
      if (measure !== undefined) options.record({ ...row, operation: 'abort to stopped', measure });
      await host.close();
    }
    for (let round = 0; round < 3; round += 1) {
      settle();
      const host = new HoldfastHost(path.join(base, `strain-${round}`), work);
      options.record({ ...row, operation: 'first, alone', measure: await host.call('first') });
      for (let again = 0; again < 3; again += 1) {
        options.record({ ...row, operation: 'unchanged, alone', measure: await host.call('snapshot') });
      }
      await host.close();
    }
  });
}

/**
 * @param {Options} options
 * @param {(base: string, work: string) => Promise<void>} use
 */
async function onCopy({ directory, pristine }, use) {
  rmSync(directory, { recursive: true, force: true });
  const work = path.join(directory, 'tree');
  must(['mkdir', '-p', directory], { cwd: '/' });
  must(['cp', '-a', pristine, work], { cwd: '/' });
  try {
    await use(path.join(directory, 'base'), work);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

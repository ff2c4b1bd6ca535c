import { parentPort, workerData } from 'node:worker_threads';

import { corpusOf, inputOf } from './inputs.mjs';
import { untyped } from './verdict.mjs';

/** @typedef {import('./target.mjs').Target} Target */
/** @typedef {{ target: string, seed: number, count: number, turn: Int32Array, targets: string, corpus?: string }} Work */

const { target: name, seed, count, turn, corpus, targets: module } = /** @type {Work} */ (workerData);
/** @type {{ targets: readonly Target[] }} */
const { targets } = await import(module);
const target = targets.find((candidate) => candidate.name === name);
if (target === undefined) throw new Error(`no target ${name}`);

/** @param {Uint8Array} bytes @returns {Promise<string | undefined>} What is wrong. */
async function problemOf(bytes) {
  try {
    const result = target?.run(bytes);
    if (result instanceof Promise) await result;
    return undefined;
  } catch (error) {
    return untyped(error, target?.allowed);
  }
}

/** Removes pieces as long as the same thing is wrong. @param {Buffer} bytes @param {string} problem */
async function smallest(bytes, problem) {
  let best = bytes;
  for (let length = best.length >> 1; length >= 1; length >>= 1) {
    for (let at = 0; at + length <= best.length; ) {
      const shorter = Buffer.concat([best.subarray(0, at), best.subarray(at + length)]);
      if ((await problemOf(shorter)) === problem) best = shorter;
      else at += length;
    }
  }
  return best;
}

const bases = await target.seeds();
for (const base of bases) {
  const problem = await problemOf(base);
  if (problem !== undefined)
    parentPort?.postMessage({ where: 'a valid input', problem, input: Buffer.from(base).toString('hex') });
}
for (const { file, bytes } of corpusOf(target, corpus)) {
  const problem = await problemOf(bytes);
  if (problem !== undefined)
    parentPort?.postMessage({ where: `corpus ${file}`, problem, input: bytes.toString('hex') });
}
/** @type {Set<string>} */
const seen = new Set();
for (let index = 0; index < count && seen.size < 5; index += 1) {
  Atomics.store(turn, 0, index);
  const bytes = inputOf(target, bases, seed, index);
  const problem = await problemOf(bytes);
  // One of a kind is enough.
  const kind = problem?.replaceAll(/[0-9]+/g, '0').slice(0, 80);
  if (problem === undefined || kind === undefined || seen.has(kind)) continue;
  seen.add(kind);
  const input = await smallest(bytes, problem);
  parentPort?.postMessage({ where: `turn ${index}`, problem, input: input.toString('hex') });
}
Atomics.store(turn, 0, count);

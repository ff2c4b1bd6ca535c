import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { seededRandom } from '@holdfast/base/testing';

import { mutateBytes, mutateJson } from './mutate.mjs';

/** @typedef {import('./target.mjs').Target} Target */

export const corpusDirectory = fileURLToPath(new URL('corpus', import.meta.url));

/** Inputs that once were treated wrongly; every run begins with them. @param {Target} target @param {string} [directory] */
export function corpusOf(target, directory = corpusDirectory) {
  const own = path.join(directory, target.name);
  if (!existsSync(own)) return [];
  return readdirSync(own)
    .sort()
    .map((file) => ({ file, bytes: readFileSync(path.join(own, file)) }));
}

/**
 * The input of one turn: the same for the same seed and turn, whatever came before.
 * @param {Target} target
 * @param {readonly Uint8Array[]} bases
 * @param {number} seed
 * @param {number} turn
 * @returns {Buffer}
 */
export function inputOf(target, bases, seed, turn) {
  const random = seededRandom((seed * 2_654_435_761 + turn * 40_503) >>> 0);
  const base = random.pick(bases);
  /** @type {Buffer} */
  let bytes;
  if (target.json === true && random.below(3) > 0) {
    const text = Buffer.from(base).toString('latin1');
    // What is sealed has its JSON between other things.
    const from = text.indexOf('{');
    const to = text.lastIndexOf('}') + 1;
    const changed = text
      .slice(from, to)
      .split('\n')
      .map((line) => mutateLine(line, random))
      .join('\n');
    bytes = Buffer.from(text.slice(0, from) + changed + text.slice(to), 'latin1');
  } else bytes = mutateBytes(base, random.pick(bases), random);
  return target.mend === undefined ? bytes : Buffer.from(target.mend(bytes, random));
}

/** A line of JSON, with or without something before it. @param {string} line @param {import('@holdfast/base/testing').SeededRandom} random */
function mutateLine(line, random) {
  const from = line.indexOf('{');
  return from < 0 ? line : line.slice(0, from) + mutateJson(line.slice(from), random);
}

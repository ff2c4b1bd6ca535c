import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {object} Violation
 * @property {number} seed
 * @property {number} round
 * @property {string} story The end of the output: the counterexample.
 */

/**
 * @typedef {object} Progress What one campaign has done so far.
 * @property {number} rounds
 * @property {number} seconds
 * @property {Record<string, number>} counts By unit.
 * @property {number} firstSeed
 * @property {Violation[]} violations
 * @property {string | undefined} leftOut Why it cannot run here.
 */

/**
 * @typedef {object} State
 * @property {number} version
 * @property {string} started
 * @property {number} seconds
 * @property {Record<string, Progress>} campaigns
 */

/** @returns {State} */
export function emptyState(started = new Date().toISOString()) {
  return { version: 1, started, seconds: 0, campaigns: {} };
}

/**
 * @param {string} file
 * @returns {State | undefined} Nothing when there is no state to go on from.
 */
export function readState(file) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  /** @type {State} */
  const state = JSON.parse(text);
  if (state.version !== 1) throw new Error(`${file} is of another version; remove it to start again`);
  return state;
}

/**
 * @param {string} file
 * @param {State} state
 */
export function writeState(file, state) {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(state, undefined, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/**
 * @param {State} state
 * @param {string} name
 * @param {number} firstSeed
 * @returns {Progress}
 */
export function progressOf(state, name, firstSeed) {
  return (state.campaigns[name] ??= {
    rounds: 0,
    seconds: 0,
    counts: {},
    firstSeed,
    violations: [],
    leftOut: undefined,
  });
}

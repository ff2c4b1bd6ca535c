#!/usr/bin/env node
/**
 * An independent judge of directory trees. It shares no code with the packages and uses nothing but Node, so that a
 * mistake in the packages cannot hide in it. `oracle.py` beside it is the same judge in another language.
 *
 *   node oracle.mjs list DIR [--facts] [--ignore PATH]…
 *   node oracle.mjs compare A B [--ignore PATH]…
 *
 * Prints JSON. Exit code 0: listed, or equal; 1: different; 2: wrong usage or a tree that cannot be read.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * @typedef {object} OracleEntry
 * @property {string} pathHex The path below the root, as hex of its bytes: what is compared and sorted.
 * @property {string} path The same for people; bytes that are not UTF-8 are replaced.
 * @property {'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'char-device' | 'block-device' | 'other'} kind
 * @property {string} mode Permission bits with set-id and sticky, four octal digits. Empty for symlinks.
 * @property {number} [size] Files only.
 * @property {string} [sha256] Files only.
 * @property {string} [targetHex] Symlinks only, verbatim.
 * @property {{ ino: string, mtimeNs: string, ctimeNs: string, nlink: string }} [facts] Only when asked for.
 */

/**
 * @typedef {object} OracleOptions
 * @property {readonly string[]} [ignore] Paths below the root that are left out with everything in them.
 * @property {boolean} [facts] Adds inode, times and link count: what changes when a file was touched at all.
 */

/**
 * @typedef {object} Difference
 * @property {string} pathHex
 * @property {string} path
 * @property {'only-in-a' | 'only-in-b' | 'kind' | 'mode' | 'size' | 'sha256' | 'targetHex' | 'facts'} what
 * @property {string} [a]
 * @property {string} [b]
 */

const slash = Buffer.from('/');

/**
 * Lists a tree, sorted by the bytes of the paths. The root itself is not an entry.
 * @param {string | Buffer} root
 * @param {OracleOptions} [options]
 * @returns {OracleEntry[]}
 */
export function listTree(root, options = {}) {
  const ignored = new Set((options.ignore ?? []).map((item) => Buffer.from(item).toString('hex')));
  const start = Buffer.isBuffer(root) ? root : Buffer.from(root);
  /** @type {OracleEntry[]} */
  const entries = [];
  /** @type {Buffer[]} */
  const pending = [Buffer.alloc(0)];
  for (let relative = pending.pop(); relative !== undefined; relative = pending.pop()) {
    const directory = relative.length === 0 ? start : Buffer.concat([start, slash, relative]);
    for (const name of readdirSync(directory, { encoding: 'buffer' })) {
      const child = relative.length === 0 ? name : Buffer.concat([relative, slash, name]);
      if (ignored.has(child.toString('hex'))) continue;
      const entry = describe(Buffer.concat([start, slash, child]), child, options.facts === true);
      entries.push(entry);
      if (entry.kind === 'directory') pending.push(child);
    }
  }
  return entries.sort((a, b) => (a.pathHex < b.pathHex ? -1 : 1));
}

/**
 * Compares two listings.
 * @param {readonly OracleEntry[]} a
 * @param {readonly OracleEntry[]} b
 * @returns {Difference[]} Empty when the trees are equal.
 */
export function compareListings(a, b) {
  const others = new Map(b.map((entry) => [entry.pathHex, entry]));
  const own = new Set(a.map((entry) => entry.pathHex));
  /** @type {Difference[]} */
  const differences = [];
  for (const entry of a) {
    const other = others.get(entry.pathHex);
    const { pathHex, path: shown } = entry;
    if (other === undefined) {
      differences.push({ pathHex, path: shown, what: 'only-in-a' });
      continue;
    }
    for (const what of /** @type {const} */ (['kind', 'mode', 'size', 'sha256', 'targetHex', 'facts'])) {
      const left = text(entry[what]);
      const right = text(other[what]);
      if (left !== right) differences.push({ pathHex, path: shown, what, a: left, b: right });
    }
  }
  for (const { pathHex, path: shown } of b) {
    if (!own.has(pathHex)) differences.push({ pathHex, path: shown, what: 'only-in-b' });
  }
  return differences;
}

/**
 * Compares two trees byte for byte: paths, kinds, modes, sizes, contents and link targets.
 * @param {string | Buffer} a
 * @param {string | Buffer} b
 * @param {OracleOptions} [options]
 * @returns {Difference[]}
 */
export function compareTrees(a, b, options = {}) {
  return compareListings(listTree(a, options), listTree(b, options));
}

/**
 * @param {Buffer} absolute
 * @param {Buffer} relative
 * @param {boolean} withFacts
 * @returns {OracleEntry}
 */
function describe(absolute, relative, withFacts) {
  const stat = lstatSync(absolute, { bigint: true });
  const kind = kindOf(stat);
  /** @type {OracleEntry} */
  const entry = {
    pathHex: relative.toString('hex'),
    path: relative.toString('utf8'),
    kind,
    mode: kind === 'symlink' ? '' : (Number(stat.mode) & 0o7777).toString(8).padStart(4, '0'),
  };
  if (kind === 'file') Object.assign(entry, contentOf(absolute));
  if (kind === 'symlink') entry.targetHex = readlinkSync(absolute, { encoding: 'buffer' }).toString('hex');
  if (withFacts) {
    const { ino, mtimeNs, ctimeNs, nlink } = stat;
    entry.facts = { ino: `${ino}`, mtimeNs: `${mtimeNs}`, ctimeNs: `${ctimeNs}`, nlink: `${nlink}` };
  }
  return entry;
}

/**
 * @param {import('node:fs').BigIntStats} stat
 * @returns {OracleEntry['kind']}
 */
function kindOf(stat) {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  if (stat.isSymbolicLink()) return 'symlink';
  if (stat.isFIFO()) return 'fifo';
  if (stat.isSocket()) return 'socket';
  if (stat.isCharacterDevice()) return 'char-device';
  return stat.isBlockDevice() ? 'block-device' : 'other';
}

/**
 * @param {Buffer} absolute
 * @returns {{ size: number, sha256: string }}
 */
function contentOf(absolute) {
  // A file that became a FIFO since must not block the judge.
  const descriptor = openSync(
    absolute,
    constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  );
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error(`${absolute.toString()} changed while it was read`);
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(1 << 18);
    let size = 0;
    for (let count = readSync(descriptor, buffer); count > 0; count = readSync(descriptor, buffer)) {
      hash.update(buffer.subarray(0, count));
      size += count;
    }
    return { size, sha256: hash.digest('hex') };
  } finally {
    closeSync(descriptor);
  }
}

/** @param {string | number | object | undefined} value */
function text(value) {
  return typeof value === 'object' ? JSON.stringify(value) : `${value ?? ''}`;
}

/** @param {readonly string[]} args */
function main(args) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { facts: { type: 'boolean' }, ignore: { type: 'string', multiple: true } },
  });
  const options = { facts: values.facts === true, ignore: values.ignore ?? [] };
  const [command, first, second] = positionals;
  if (command === 'list' && first !== undefined && second === undefined) {
    console.log(JSON.stringify(listTree(first, options), null, 1));
    return 0;
  }
  if (command === 'compare' && first !== undefined && second !== undefined && positionals.length === 3) {
    const a = listTree(first, options);
    const differences = compareListings(a, listTree(second, options));
    console.log(JSON.stringify({ equal: differences.length === 0, entries: a.length, differences }, null, 1));
    return differences.length === 0 ? 0 : 1;
  }
  console.error('usage: oracle list DIR [--facts] [--ignore PATH] | oracle compare A B [--ignore PATH]');
  return 2;
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = main(process.argv.slice(2));
  } catch (error) {
    console.error(`oracle: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 2;
  }
}

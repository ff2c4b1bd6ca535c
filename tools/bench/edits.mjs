/** Seeded edits, like those of an agent's step. The same seed makes the same edits in equal trees. */
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';

import { SeededNumbers } from './random.mjs';

/** Larger files are changed in place. */
const rewrittenBytes = 1_000_000;

/**
 * Paths of all regular files below a directory, sorted.
 * @param {string} root
 * @returns {string[]}
 */
export function listFiles(root) {
  /** @type {string[]} */
  const files = [];
  const open = [''];
  for (let relative = open.pop(); relative !== undefined; relative = open.pop()) {
    for (const entry of readdirSync(path.join(root, relative), { withFileTypes: true })) {
      const child = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) open.push(child);
      else if (entry.isFile()) files.push(child);
    }
  }
  return files.sort();
}

/**
 * @param {string} root
 * @param {readonly string[]} files Of the tree before any edit.
 * @param {number} seed
 * @param {{ edit?: number, add?: number, remove?: number }} counts
 * @returns {{ touched: string[], added: string[] }} Relative paths; `touched` were there before.
 */
export function editTree(root, files, seed, counts) {
  const numbers = new SeededNumbers(seed);
  const used = new Set();
  const wanted = (counts.edit ?? 0) + (counts.remove ?? 0);
  if (wanted > files.length) throw new RangeError(`a tree of ${files.length} files has no ${wanted} to edit`);
  const take = () => {
    for (;;) {
      const file = numbers.pick(files);
      if (used.has(file)) continue;
      used.add(file);
      return file;
    }
  };
  /** @type {string[]} */
  const touched = [];
  /** @type {string[]} */
  const added = [];
  for (let count = 0; count < (counts.edit ?? 0); count += 1) {
    const file = take();
    touched.push(file);
    editFile(path.join(root, file), numbers, `${seed}.${count}`);
  }
  for (let count = 0; count < (counts.add ?? 0); count += 1) {
    const file = path.posix.join(path.posix.dirname(numbers.pick(files)), `added-${seed}-${count}.ts`);
    const lines = Array.from({ length: 60 }, (_, line) => `export const value${line} = ${numbers.next()};\n`);
    writeFileSync(path.join(root, file), lines.join(''));
    added.push(file);
  }
  for (let count = 0; count < (counts.remove ?? 0); count += 1) {
    const file = take();
    touched.push(file);
    rmSync(path.join(root, file));
  }
  return { touched, added };
}

/**
 * A line in the middle of a small file; 64 KiB of a large one.
 * @param {string} file
 * @param {SeededNumbers} numbers
 * @param {string} label
 */
function editFile(file, numbers, label) {
  const target = openSync(file, 'r+');
  try {
    const { size } = fstatSync(target);
    if (size > rewrittenBytes) {
      writeSync(target, numbers.bytes(64 * 1024), 0, 64 * 1024, numbers.below(size - 64 * 1024));
      return;
    }
    const bytes = readFileSync(target);
    const at = bytes.indexOf(0x0a, bytes.length >> 1) + 1;
    const line = Buffer.from(`// edit ${label} ${numbers.next()}\n`, 'latin1');
    const rest = Buffer.concat([line, bytes.subarray(at)]);
    writeSync(target, rest, 0, rest.length, at);
  } finally {
    closeSync(target);
  }
}

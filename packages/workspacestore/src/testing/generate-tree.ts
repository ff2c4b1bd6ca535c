import { compareBytes } from '@holdfast/base';
import { type SeededRandom, seededRandom } from '@holdfast/base/testing';

import type { TreeNode } from './tree-node.js';

export interface GenerateTreeOptions {
  /** Nodes, about; default 40. */
  readonly nodes?: number | undefined;
  /** Bytes of the largest file; default 64 KiB. Give several MiB to get chunked files. */
  readonly largestFile?: number | undefined;
  /** Components of the deepest path, about; default 12. */
  readonly depth?: number | undefined;
  /** Names that are not UTF-8, differ in case only, or hold control characters; default `true`. */
  readonly hostileNames?: boolean | undefined;
  /** Modes that keep their owner out (never for root users); default `false`. */
  readonly lockedModes?: boolean | undefined;
}

/**
 * Makes a tree from a seed: names as bytes, modes, links, empty directories and files, duplicates, deep paths. Parents
 * come before what is in them. The same seed and options make the same tree, on every platform.
 */
export function generateTree(seed: number, options: GenerateTreeOptions = {}): TreeNode[] {
  return new Generator(seed, options).run();
}

const plainNames = [
  'src',
  'lib',
  'index.ts',
  'README.md',
  'a',
  'b',
  'c',
  'test',
  'data',
  'main.c',
  '.git',
  '.env',
];
const hostileNames = [
  '公共函数.cpp',
  'a"b.txt',
  'new\nline.txt',
  ' lead.txt ',
  '-rf',
  'é.txt',
  'e\u0301.txt',
  'Logo.png',
  'logo.png',
  'back\\slash',
  'tab\tesc\u001b[31m',
  '\u202egnp.exe',
  '...',
  '..a',
  '~',
  '$HOME',
  'CON',
  'n'.repeat(255),
].map((name) => Buffer.from(name));
const rawNames = [
  Buffer.from('bad\xff.bin', 'latin1'),
  Buffer.from('\xc3', 'latin1'),
  Buffer.from('\xed\xa0\x80', 'latin1'),
];
const fileModes = [0o644, 0o644, 0o755, 0o600, 0o444, 0o640, 0o777, 0o400];
const directoryModes = [0o755, 0o755, 0o700, 0o750, 0o555, 0o711, 0o777];
const targets = ['missing', '../outside', '/etc/passwd', '.', '../../../../..', 'a/b', 'self', '公'].map(
  (text) => Buffer.from(text),
);

class Generator {
  readonly #random: SeededRandom;
  readonly #options: GenerateTreeOptions;
  readonly #nodes: TreeNode[] = [];
  readonly #contents: Uint8Array[] = [];

  constructor(seed: number, options: GenerateTreeOptions) {
    this.#random = seededRandom(seed);
    this.#options = options;
  }

  run(): TreeNode[] {
    const wanted = this.#options.nodes ?? 40;
    const directories: { path: Uint8Array; depth: number; names: Set<string> }[] = [
      { path: new Uint8Array(0), depth: 0, names: new Set() },
    ];
    for (let count = 0; count < wanted; count += 1) {
      // The newest directory is chosen often, so that paths get deep.
      const at =
        this.#random.below(3) === 0 ? directories.length - 1 : this.#random.below(directories.length);
      const directory = directories[at] as (typeof directories)[number];
      const name = this.#name();
      const text = Buffer.from(name).toString('latin1');
      if (directory.names.has(text)) continue;
      directory.names.add(text);
      const path =
        directory.path.length === 0 ? name : Buffer.concat([directory.path, Buffer.from('/'), name]);
      if (path.length > 2000) continue;
      const node = this.#node(path, directory.depth < (this.#options.depth ?? 12));
      this.#nodes.push(node);
      if (node.kind === 'directory') directories.push({ path, depth: directory.depth + 1, names: new Set() });
    }
    return this.#nodes;
  }

  #node(path: Uint8Array, mayNest: boolean): TreeNode {
    const dice = this.#random.below(10);
    if (dice < 3 && mayNest) return { path, kind: 'directory', mode: this.#mode(directoryModes) };
    if (dice === 3) return { path, kind: 'symlink', mode: 0, target: this.#random.pick(targets) };
    return { path, kind: 'file', mode: this.#mode(fileModes), content: this.#content() };
  }

  #mode(modes: readonly number[]): number {
    if (this.#options.lockedModes === true && this.#random.below(12) === 0)
      return this.#random.pick([0, 0o111, 0o222]);
    return this.#random.pick(modes);
  }

  #name(): Uint8Array {
    const dice = this.#random.below(10);
    if (this.#options.hostileNames !== false && dice < 2) return this.#random.pick(hostileNames);
    if (this.#options.hostileNames !== false && dice === 2 && process.platform === 'linux')
      return this.#random.pick(rawNames);
    if (dice < 5) return Buffer.from(this.#random.pick(plainNames));
    return Buffer.from(`f${this.#random.below(1000)}`);
  }

  #content(): Uint8Array {
    const dice = this.#random.below(10);
    const largest = this.#options.largestFile ?? 64 * 1024;
    if (dice === 0) return new Uint8Array(0);
    if (dice === 1 && this.#contents.length > 0) return this.#random.pick(this.#contents);
    const size =
      dice === 2
        ? largest - this.#random.below(Math.max(1, largest >> 3))
        : this.#random.below(Math.min(largest, 4096)) + 1;
    const content = this.#random.below(2) === 0 ? this.#text(size) : this.#noise(size);
    this.#contents.push(content);
    return content;
  }

  #text(size: number): Uint8Array {
    const line = Buffer.from(`line ${this.#random.below(1e6)}: const value = ${this.#random.below(1e6)};\n`);
    return Buffer.alloc(size, line);
  }

  #noise(size: number): Uint8Array {
    const bytes = new Uint8Array(size);
    let state = this.#random.below(0x7fffffff) | 1;
    for (let i = 0; i < size; i += 1) {
      state = (Math.imul(state, 1103515245) + 12345) | 0;
      bytes[i] = state >>> 24;
    }
    return bytes;
  }
}

/** Puts nodes into canonical order: a directory before what is in it, names of one directory in byte order. */
export function canonicalOrder(nodes: readonly TreeNode[]): TreeNode[] {
  return [...nodes].sort((a, b) => compareBytes(orderKey(a.path), orderKey(b.path)));
}

/** A separator sorts before every other byte of a name. */
function orderKey(path: Uint8Array): Uint8Array {
  return path.map((byte) => (byte === 0x2f ? 0 : byte));
}

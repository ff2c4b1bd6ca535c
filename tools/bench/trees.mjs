/** The trees that are measured on. Built once per directory and seed, then copied. */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';

import { SeededNumbers, SourceText } from './random.mjs';

/**
 * @typedef {object} TreeKind
 * @property {string} name
 * @property {string} about For people.
 * @property {(destination: string, numbers: SeededNumbers) => void} build Fills an empty directory.
 * @property {number} rounds Rounds of the quick operations.
 * @property {number} slowRounds Rounds of operations that take many seconds.
 */

const extensions = ['.ts', '.ts', '.ts', '.tsx', '.js', '.json', '.md', '.css'];

/**
 * Writes source-like files into packages of twelve directories each.
 * @param {string} destination
 * @param {SeededNumbers} numbers
 * @param {{ files: number, directories: number, median: number, spread: number }} shape
 */
function writeSources(destination, numbers, shape) {
  const text = new SourceText(numbers, Math.min(24 * 2 ** 20, shape.files * 8192));
  const places = makeDirectories(destination, text, shape.directories);
  for (let file = 0; file < shape.files; file += 1) {
    // Every directory gets a file before any gets a second one.
    const place = /** @type {string} */ (file < places.length ? places[file] : numbers.pick(places));
    const size = Math.min(2_000_000, Math.round(numbers.logNormal(shape.median, shape.spread)));
    const name = `${text.word()}-${file}${numbers.pick(extensions)}`;
    writeFileSync(path.join(place, name), text.cut(Math.max(1, size)));
  }
}

/**
 * @param {string} destination
 * @param {SourceText} text
 * @param {number} count Every directory counts, also those that only lead to others.
 */
function makeDirectories(destination, text, count) {
  /** @type {string[]} */
  const places = [];
  let left = count - 1;
  const top = path.join(destination, 'packages');
  mkdirSync(top);
  for (let number = 0; left > 0; number += 1) {
    const base = path.join(top, `package-${String(number).padStart(4, '0')}`);
    const inside = [
      '',
      'src',
      'test',
      ...Array.from({ length: 9 }, (_, part) => `src/${text.word()}-${part}`),
    ];
    for (const relative of inside.slice(0, left)) {
      const place = path.join(base, relative);
      mkdirSync(place);
      places.push(place);
    }
    left -= Math.min(left, inside.length);
  }
  return places;
}

/**
 * @param {string} destination
 * @param {SeededNumbers} numbers
 */
function writeData(destination, numbers) {
  const fileBytes = 64 * 2 ** 20;
  const pieceBytes = 2 ** 20;
  const text = new SourceText(numbers, 4 * 2 ** 20);
  let row = 0;
  for (let file = 0; file < 8; file += 1) {
    const random = file < 4;
    const target = openSync(path.join(destination, random ? `random-${file}.bin` : `table-${file}.csv`), 'w');
    for (let written = 0; written < fileBytes; ) {
      let piece = random ? numbers.bytes(pieceBytes) : Buffer.alloc(0);
      if (!random) {
        let rows = '';
        while (rows.length < pieceBytes) {
          row += 1;
          rows += `${row},${text.word()},${text.word()},${numbers.below(1_000_000) / 100},${numbers.below(2) === 0 ? 'ok' : 'failed'}\n`;
        }
        piece = Buffer.from(rows, 'latin1');
      }
      written += writeSync(target, piece, 0, Math.min(piece.length, fileBytes - written));
    }
    closeSync(target);
  }
}

/** A web application's dependencies. The date keeps what they depend on in turn from moving. */
const dependencies = {
  '@babel/core': '7.29.13',
  '@babel/preset-env': '7.29.14',
  '@emotion/react': '11.14.0',
  '@emotion/styled': '11.14.1',
  '@mui/material': '9.5.0',
  '@typescript-eslint/eslint-plugin': '8.74.0',
  '@typescript-eslint/parser': '8.74.0',
  eslint: '9.39.5',
  'eslint-plugin-react': '7.37.5',
  express: '5.3.0',
  jest: '30.5.2',
  lodash: '4.18.1',
  next: '16.4.6',
  prettier: '3.10.1',
  react: '19.3.1',
  'react-dom': '19.3.1',
  rxjs: '7.8.2',
  tailwindcss: '4.3.5',
  typescript: '6.0.3',
  vite: '8.3.8',
  webpack: '5.113.0',
  'webpack-cli': '7.3.1',
};
const dependenciesBefore = '2026-11-25';

/**
 * @param {string} destination
 * @param {SeededNumbers} numbers
 */
function installModules(destination, numbers) {
  const manifest = { name: 'bench-tree', version: '0.0.0', private: true, dependencies };
  writeFileSync(path.join(destination, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const result = spawnSync('npm', ['install', ...flags, `--before=${dependenciesBefore}`], {
    cwd: destination,
    stdio: 'inherit',
  });
  if (result.status !== 0) throw new Error('npm install failed: the tree of packages needs the npm registry');
  writeSources(destination, numbers, { files: 300, directories: 75, median: 5000, spread: 1 });
}

/** @type {Readonly<Record<string, TreeKind>>} */
export const treeKinds = {
  small: {
    name: 'small',
    about: '300 source-like files in 76 directories, about 3 MB',
    build: (destination, numbers) => {
      writeSources(destination, numbers, { files: 300, directories: 76, median: 5800, spread: 1 });
    },
    rounds: 11,
    slowRounds: 11,
  },
  nm: {
    name: 'nm',
    about: 'an npm install of a large web stack and 300 source-like files beside it',
    build: installModules,
    rounds: 7,
    slowRounds: 5,
  },
  mono: {
    name: 'mono',
    about: '100,000 source-like files in 10,000 directories, about 300 MB',
    build: (destination, numbers) => {
      writeSources(destination, numbers, { files: 100_000, directories: 10_000, median: 1300, spread: 1.3 });
    },
    rounds: 5,
    slowRounds: 3,
  },
  data: {
    name: 'data',
    about: '8 files of 64 MiB, half of them random, half of them CSV',
    build: writeData,
    rounds: 5,
    slowRounds: 3,
  },
};

/** The kinds for which the cost of many files is looked at. */
for (const [name, files] of /** @type {[string, number][]} */ ([
  ['files-1k', 1000],
  ['files-10k', 10_000],
])) {
  /** @type {Record<string, TreeKind>} */ (treeKinds)[name] = {
    name,
    about: `${files} files like those of mono`,
    build: (destination, numbers) => {
      writeSources(destination, numbers, { files, directories: files / 10, median: 1300, spread: 1.3 });
    },
    rounds: 7,
    slowRounds: 5,
  };
}

/**
 * The directory of a tree, built when it is not there. It must not be changed: copy it.
 * @param {string} parent Where trees are kept.
 * @param {TreeKind} kind
 * @param {number} seed
 */
export function provideTree(parent, kind, seed) {
  const place = path.join(parent, `${kind.name}-${seed}`);
  if (existsSync(place)) return place;
  const partial = `${place}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  kind.build(partial, new SeededNumbers(seed));
  renameSync(partial, place);
  return place;
}

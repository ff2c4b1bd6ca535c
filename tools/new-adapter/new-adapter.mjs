#!/usr/bin/env node
/**
 * Makes the package of an adapter: a driver whose methods say what they owe, a harness, and the suite that runs at once and
 * fails until the driver keeps the contract.
 *
 *     node tools/new-adapter/new-adapter.mjs lease @you/holdfast-redis ./holdfast-redis
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { listPackages } from '../shared/workspace.mjs';

const templates = fileURLToPath(new URL('templates', import.meta.url));

/** What differs between the contracts, and is not in a file of its own. */
const kinds = /** @type {const} */ ({
  blobs: { className: 'Blobs', packages: ['base', 'blobs'], page: 'blobs.md', section: 'blobs' },
  ledger: { className: 'Ledger', packages: ['base', 'journal'], page: 'ledger.md', section: 'ledger' },
  lease: { className: 'Leaser', packages: ['base', 'lease'], page: 'lease.md', section: 'lease' },
});

/** @typedef {keyof typeof kinds} Kind */

/**
 * Writes the package. Refuses a directory that has something in it.
 * @param {{ kind: Kind, name: string, directory: string }} options
 * @returns {string[]} The files, relative to the directory.
 */
export function makeAdapter({ kind, name, directory }) {
  if (!/^(?:@[a-z0-9-]+\/)?[a-z0-9][a-z0-9.-]*$/.test(name))
    throw new Error(`${JSON.stringify(name)} is no name of a package`);
  if (existsSync(directory) && readdirSync(directory).length > 0)
    throw new Error(`${directory} is not empty`);
  const { className, packages, page, section } = kinds[kind];
  const word = name.replace(/^.*\//, '').replace(/^holdfast-/, '');
  const camel = word.replace(/[.-]+(.)?/g, (_, letter = '') => letter.toUpperCase());
  const versions = new Map(listPackages().map(({ manifest }) => [manifest.name, manifest.version]));
  const dependencies = Object.fromEntries(
    packages.map((one) => [`@holdfast/${one}`, `^${versions.get(`@holdfast/${one}`)}`]),
  );
  /** @type {Record<string, string>} */
  const values = {
    NAME: name,
    WORD: word,
    CAMEL: camel,
    PASCAL: camel.charAt(0).toUpperCase() + camel.slice(1),
    CLASS: className,
    KIND: kind,
    PAGE: page,
    SECTION: section,
    DEPENDENCIES: JSON.stringify(dependencies, undefined, 2).replaceAll('\n', '\n  '),
  };
  const files = ['common', kind].flatMap((part) =>
    readdirSync(path.join(templates, part)).map((file) => ({ part, file })),
  );
  return files.map(({ part, file }) => {
    // `src+driver.mjs.txt` is `src/driver.mjs`: templates are neither linted nor run.
    const relative = file.replace(/\.txt$/, '').replaceAll('+', '/');
    const text = readFileSync(path.join(templates, part, file), 'utf8').replace(
      /__([A-Z]+)__/g,
      (whole, key) => {
        return values[key] ?? whole;
      },
    );
    const target = path.join(directory, relative);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
    return relative;
  });
}

/** @param {string | undefined} kind @returns {kind is Kind} */
function isKind(kind) {
  return kind !== undefined && Object.hasOwn(kinds, kind);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [kind, name, directory] = positionals;
  if (!isKind(kind) || name === undefined || directory === undefined) {
    console.error('usage: new-adapter.mjs blobs|ledger|lease NAME DIRECTORY');
    process.exitCode = 2;
  } else {
    try {
      const files = makeAdapter({ kind, name, directory: path.resolve(directory) });
      console.log(`${files.join('\n')}\n\ncd ${directory} && npm install && npm test`);
    } catch (error) {
      console.error(error instanceof Error ? error.message : String(error));
      process.exitCode = 1;
    }
  }
}

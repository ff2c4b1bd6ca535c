import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of this repository. */
export const repositoryRoot = path.resolve(fileURLToPath(new URL('../..', import.meta.url)));

/**
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {string} [packageManager]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, { optional?: boolean }>} [peerDependenciesMeta]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, unknown>} [exports]
 * @property {Record<string, unknown>} [imports]
 * @property {Record<string, string>} [bin]
 * @property {readonly string[]} [files]
 * @property {Record<string, string>} [scripts]
 * @property {{ exports?: Record<string, { types: string, default: string } | string>, imports?: Record<string, unknown> }} [publishConfig]
 */

/**
 * @typedef {object} WorkspacePackage
 * @property {string} directory Name of the directory below `packages`.
 * @property {string} path Absolute path.
 * @property {Manifest} manifest
 */

/**
 * Reads and parses a JSON file.
 * @param {string} file
 * @returns {any}
 */
export function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/**
 * Lists the published packages, by directory name.
 * @param {string} [root]
 * @returns {WorkspacePackage[]}
 */
export function listPackages(root = repositoryRoot) {
  const parent = path.join(root, 'packages');
  return readdirSync(parent)
    .sort()
    .map((directory) => ({ directory, path: path.join(parent, directory) }))
    .filter((entry) => existsSync(path.join(entry.path, 'package.json')))
    .map((entry) => ({ ...entry, manifest: readJson(path.join(entry.path, 'package.json')) }));
}

/**
 * The public entry points of a package as published: subpath, built file and declarations.
 * @param {WorkspacePackage} item
 * @returns {{ subpath: string, specifier: string, file: string, types: string }[]}
 */
export function publishedEntries(item) {
  return Object.entries(item.manifest.publishConfig?.exports ?? {}).flatMap(([subpath, target]) =>
    typeof target === 'string'
      ? []
      : [
          {
            subpath,
            specifier: `${item.manifest.name}${subpath.slice(1)}`,
            file: path.join(item.path, target.default),
            types: path.join(item.path, target.types),
          },
        ],
  );
}

/** Directories that hold no sources of ours. */
const skippedDirectories = new Set(['node_modules', 'dist', '.git', '.turbo', 'coverage', '.changeset']);

/**
 * Lists files below a directory, as paths relative to it with `/`, sorted.
 * @param {string} directory
 * @param {(relative: string) => boolean} [accept]
 * @returns {string[]}
 */
export function listFiles(directory, accept = () => true) {
  /** @type {string[]} */
  const found = [];
  /** @param {string} relative */
  const walk = (relative) => {
    for (const entry of readdirSync(path.join(directory, relative), { withFileTypes: true })) {
      const child = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!skippedDirectories.has(entry.name)) walk(child);
      } else if (entry.isFile() && accept(child)) {
        found.push(child);
      }
    }
  };
  if (existsSync(directory)) walk('');
  return found.sort();
}

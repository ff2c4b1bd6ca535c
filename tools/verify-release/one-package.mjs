import path from 'node:path';

import { readPacked } from '../shared/pack.mjs';
import { repositoryRoot } from '../shared/workspace.mjs';

/** @typedef {import('../shared/pack.mjs').PackedPackage} PackedPackage */

/** The packages that somebody installs without their siblings, and the program that does. */
export const onePackagePrograms = new Map(
  ['workspacestore', 'journal', 'lease', 'coordinator', 'restore', 'rig'].map((name) => [
    `@holdfast/${name}`,
    path.join(repositoryRoot, 'examples', 'one-package', `${name}.mjs`),
  ]),
);

const maxLines = 40;

/**
 * Says why a program is no proof that its package is of use alone.
 * @param {string} source
 * @param {Pick<PackedPackage, 'name'> & { manifest?: string }} item
 * @param {readonly (Pick<PackedPackage, 'name' | 'tarball'> & { manifest?: string })[]} all
 * @returns {string | undefined}
 */
export function onePackageProblem(source, item, all) {
  const lines = source.trimEnd().split('\n').length;
  if (lines > maxLines) return `it has ${lines} lines, more than ${maxLines}`;
  const allowed = closureOf(item.name, all);
  const imported = [...source.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) =>
    String(match[1]),
  );
  const names = imported.filter((specifier) => !specifier.startsWith('node:')).map(packageOf);
  const stranger = names.find((name) => !allowed.has(name));
  if (stranger !== undefined) return `it imports ${stranger}, which does not come with the package`;
  return names.includes(item.name) ? undefined : 'it does not import the package';
}

/** @param {string} specifier */
function packageOf(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/**
 * A package and everything of ours that it depends on.
 * @param {string} name
 * @param {readonly (Pick<PackedPackage, 'name' | 'tarball'> & { manifest?: string })[]} all
 */
function closureOf(name, all) {
  const found = new Set([name]);
  for (const current of found) {
    const item = all.find((candidate) => candidate.name === current);
    if (item === undefined) continue;
    const manifest = JSON.parse(item.manifest ?? readPacked(item.tarball, 'package.json'));
    for (const dependency of Object.keys(manifest.dependencies ?? {})) {
      if (all.some((candidate) => candidate.name === dependency)) found.add(dependency);
    }
  }
  return found;
}

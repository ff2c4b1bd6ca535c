import path from 'node:path';

import { readJson } from '../shared/workspace.mjs';

/** @typedef {import('../shared/workspace.mjs').WorkspacePackage} WorkspacePackage */

const fieldOrder = [
  'name',
  'version',
  'description',
  'license',
  'type',
  'sideEffects',
  'engines',
  'bin',
  'exports',
  'imports',
  'files',
  'scripts',
  'dependencies',
  'devDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'optionalDependencies',
  'publishConfig',
];

/**
 * The directory of the package that a workspace name belongs to; `undefined` for names of others.
 * @param {string} name
 */
export function workspaceDirectory(name) {
  if (name === 'holdfast') return 'holdfast';
  return name.startsWith('@holdfast/') ? name.slice('@holdfast/'.length) : undefined;
}

/**
 * Checks the manifest and the project references of one package.
 * @param {WorkspacePackage} item
 * @param {Record<string, readonly string[]>} layers
 * @param {ReadonlySet<string>} imports Packages that the sources import.
 * @returns {string[]}
 */
export function checkManifest(item, layers, imports) {
  const { manifest, directory } = item;
  const where = `packages/${directory}/package.json`;
  /** @type {string[]} */
  const problems = [];
  const allowed = layers[directory];
  if (allowed === undefined) return [`${where}: add the package to tools/check-boundaries/layers.json`];

  const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
  for (const [name, range] of Object.entries(declared)) {
    const sibling = workspaceDirectory(name);
    if (sibling === undefined) {
      if (manifest.dependencies?.[name] !== undefined && !/^\d/.test(range)) {
        problems.push(`${where}: pin ${name} to an exact version, not ${range}`);
      }
    } else {
      if (!allowed.includes(sibling)) problems.push(`${where}: ${directory} must not depend on ${sibling}`);
      if (range !== 'workspace:^') problems.push(`${where}: ${name} must be workspace:^, not ${range}`);
    }
    // An optional peer is what users bring: sources may know its shape only.
    const optional = manifest.peerDependenciesMeta?.[name]?.optional === true;
    if (!imports.has(name) && !optional)
      problems.push(`${where}: ${name} is declared and never imported by src`);
  }
  for (const name of imports) {
    if (declared[name] === undefined && name !== manifest.name)
      problems.push(`${where}: src imports ${name}, undeclared`);
  }

  // What only tests need of the layers below; nobody else's packages, those are pinned once at the root.
  for (const [name, range] of Object.entries(manifest.devDependencies ?? {})) {
    const sibling = workspaceDirectory(name);
    if (sibling === undefined || !allowed.includes(sibling)) {
      problems.push(`${where}: ${directory} must not depend on ${name}, in tests either`);
    } else if (range !== 'workspace:^') problems.push(`${where}: ${name} must be workspace:^, not ${range}`);
    if (declared[name] !== undefined) problems.push(`${where}: ${name} is declared twice`);
  }

  const unknown = Object.keys(manifest).filter((field) => !fieldOrder.includes(field));
  const order = Object.keys(manifest)
    .map((field) => fieldOrder.indexOf(field))
    .filter((position) => position >= 0);
  if (unknown.length > 0) problems.push(`${where}: fields that do not belong here: ${unknown.join(', ')}`);
  if (order.some((position, index) => index > 0 && position < (order[index - 1] ?? 0))) {
    problems.push(`${where}: the order of fields is ${fieldOrder.join(', ')}`);
  }
  problems.push(...checkPublished(item, where), ...checkReferences(item, where));
  return problems;
}

/**
 * What is published must be what is developed, without the condition that leads to the sources.
 * @param {WorkspacePackage} item
 * @param {string} where
 * @returns {string[]}
 */
function checkPublished({ manifest }, where) {
  /** @type {string[]} */
  const problems = [];
  for (const field of /** @type {const} */ (['exports', 'imports'])) {
    const published = manifest.publishConfig?.[field];
    const expected = withoutSource(manifest[field]);
    if (JSON.stringify(published) !== JSON.stringify(expected)) {
      problems.push(
        `${where}: publishConfig.${field} must be ${field} without the condition @holdfast/source`,
      );
    }
  }
  for (const [subpath, target] of Object.entries(manifest.exports ?? {})) {
    if (subpath === './package.json') continue;
    if (
      JSON.stringify(Object.keys(/** @type {object} */ (target))) !== '["@holdfast/source","types","default"]'
    ) {
      problems.push(
        `${where}: exports["${subpath}"] must list @holdfast/source, types, default in this order`,
      );
    }
  }
  if (manifest.files?.includes('!dist/.tsbuildinfo') !== true) {
    problems.push(`${where}: files must leave out dist/.tsbuildinfo`);
  }
  return problems;
}

/**
 * @param {unknown} value
 * @returns {unknown}
 */
function withoutSource(value) {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== '@holdfast/source')
      .map(([key, child]) => [key, withoutSource(child)]),
  );
}

/**
 * Project references decide the order of the build; they must be the declared siblings.
 * @param {WorkspacePackage} item
 * @param {string} where
 * @returns {string[]}
 */
function checkReferences(item, where) {
  const declared = Object.keys({ ...item.manifest.dependencies, ...item.manifest.peerDependencies })
    .map(workspaceDirectory)
    .filter((name) => name !== undefined)
    .sort();
  /** @type {{ references?: { path: string }[] }} */
  const config = readJson(path.join(item.path, 'tsconfig.json'));
  const referenced = (config.references ?? []).map((reference) => path.basename(reference.path)).sort();
  return JSON.stringify(declared) === JSON.stringify(referenced)
    ? []
    : [
        `${where}: tsconfig.json refers to ${referenced.join(', ')}; the manifest declares ${declared.join(', ')}`,
      ];
}

#!/usr/bin/env node
/**
 * Checks what no linter knows: who may change a disk, declared against imported dependencies, manifests, project
 * references, entry points. Directions between packages and cycles are checked by dependency-cruiser from the same table.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { listFiles, listPackages, readJson, repositoryRoot } from '../shared/workspace.mjs';
import { checkManifest } from './manifest-rules.mjs';
import { checkSource } from './source-rules.mjs';

const { values } = parseArgs({ options: { root: { type: 'string', default: repositoryRoot } } });
const layers = readJson(path.join(repositoryRoot, 'tools', 'check-boundaries', 'layers.json'));
const packages = listPackages(values.root);
/** @type {string[]} */
const problems = [];
let files = 0;

for (const item of packages) {
  /** @type {Set<string>} */
  const imports = new Set();
  const entries = new Set(
    Object.values(item.manifest.exports ?? {}).map((target) =>
      typeof target === 'object' && target !== null ? Object.values(target)[0] : target,
    ),
  );
  for (const relative of listFiles(path.join(item.path, 'src'), (file) => file.endsWith('.ts'))) {
    const file = `packages/${item.directory}/src/${relative}`;
    const text = readFileSync(path.join(item.path, 'src', relative), 'utf8');
    const facts = checkSource(item.directory, file, text, { isEntry: entries.has(`./src/${relative}`) });
    problems.push(...facts.problems);
    for (const name of facts.imports) imports.add(name);
    files += 1;
  }
  problems.push(...checkManifest(item, layers, imports));
}

for (const problem of problems) console.error(problem);
if (problems.length === 0)
  console.log(`${files} source files of ${packages.length} packages keep the boundaries`);
process.exitCode = problems.length === 0 ? 0 : 1;

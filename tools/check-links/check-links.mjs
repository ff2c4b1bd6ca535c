#!/usr/bin/env node
/** Checks that every relative link in the Markdown files of the repository leads to a file and to a heading that exist. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { listFiles, repositoryRoot } from '../shared/workspace.mjs';
import { anchorsOf, linksOf } from './links.mjs';

const { values } = parseArgs({ options: { root: { type: 'string', default: repositoryRoot } } });
const files = listFiles(values.root, (file) => file.endsWith('.md') && !file.includes('/fixtures/'));
/** @type {string[]} */
const problems = [];
let count = 0;

for (const file of files) {
  const text = readFileSync(path.join(values.root, file), 'utf8');
  for (const { line, target } of linksOf(text)) {
    count += 1;
    const [place = '', anchor] = decodeURIComponent(target).split('#');
    const base = place.startsWith('/') ? values.root : path.dirname(path.join(values.root, file));
    const absolute = place === '' ? path.join(values.root, file) : path.join(base, place);
    if (!existsSync(absolute)) {
      problems.push(`${file}:${line}: ${target} leads to nothing`);
    } else if (path.relative(values.root, absolute).startsWith('..')) {
      problems.push(`${file}:${line}: ${target} leads out of the repository`);
    } else if (anchor !== undefined && absolute.endsWith('.md') && statSync(absolute).isFile()) {
      if (!anchorsOf(readFileSync(absolute, 'utf8')).has(anchor)) {
        problems.push(`${file}:${line}: ${target}: there is no such heading`);
      }
    }
  }
}

for (const problem of problems) console.error(problem);
if (problems.length === 0)
  console.log(`${count} relative links in ${files.length} Markdown files lead somewhere`);
process.exitCode = problems.length === 0 ? 0 : 1;

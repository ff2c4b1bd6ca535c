#!/usr/bin/env node
/**
 * Measures Holdfast and its peers on the same trees in one run. Informs and gates nothing.
 *
 *   npm run bench -- [--trees small,nm] [--peers holdfast,git] [--operations first,unchanged,ten,restore,rewind]
 *                    [--directory DIR] [--disk GIB] [--seed N] [--write-docs]
 *
 * Trees and work go below DIR (default: holdfast-bench in the temporary directory; trees are kept for the next run), or on
 * a fresh ext4 with journal of GIB GiB that is mounted there (needs root). Results go to bench-results/.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { listPackages, repositoryRoot } from '../shared/workspace.mjs';
import { manyCheckpoints, strain } from './endurance.mjs';
import { describeMachine } from './machine.mjs';
import { Comparison, operationNames } from './operations.mjs';
import { borg, restic, rsync } from './peers/archivers.mjs';
import { git, gitTuned } from './peers/git.mjs';
import { holdfast, holdfastCommand } from './peers/holdfast.mjs';
import { naiveTar } from './peers/naive-tar.mjs';
import { statWalk } from './peers/stat-walk.mjs';
import { describeMachineLine, describeRuns, describeShares, describeStrain } from './report.mjs';
import { mountScratchDisk } from './scratch-disk.mjs';
import { provideTree, treeKinds } from './trees.mjs';

const peers = [holdfast, git, gitTuned, holdfastCommand, restic, borg, naiveTar, rsync, statWalk];
const results = path.join(repositoryRoot, 'bench-results');
const page = path.join(repositoryRoot, 'docs', 'performance.md');

const { values } = parseArgs({
  options: {
    trees: { type: 'string', default: 'small,nm' },
    peers: { type: 'string', default: peers.map(({ name }) => name).join(',') },
    operations: { type: 'string', default: operationNames.join(',') },
    directory: { type: 'string', default: path.join(tmpdir(), 'holdfast-bench') },
    disk: { type: 'string' },
    seed: { type: 'string', default: '1' },
    checkpoints: { type: 'string' },
    strain: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    'write-docs': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/**
 * @template T
 * @param {string} option
 * @param {string} list
 * @param {(name: string) => T | undefined} find
 * @returns {T[]}
 */
function choose(option, list, find) {
  return list.split(',').map((name) => {
    const found = find(name);
    if (found === undefined) throw new TypeError(`--${option}: there is no ${JSON.stringify(name)}`);
    return found;
  });
}

async function measure() {
  const kinds = choose('trees', values.trees, (name) => treeKinds[name]);
  const wanted = values.operations === 'none' ? [] : [values.operations];
  const operations = wanted.flatMap((list) =>
    choose('operations', list, (name) => operationNames.find((one) => one === name)),
  );
  const present = choose('peers', values.peers, (name) => peers.find((one) => one.name === name)).filter(
    (peer) => {
      const missing = peer.missing();
      if (missing !== undefined) console.log(`left out: ${peer.name}, because ${missing} is not installed`);
      return missing === undefined;
    },
  );
  const disk =
    values.disk === undefined
      ? undefined
      : mountScratchDisk(path.resolve(values.directory), Number(values.disk));
  const directory = disk?.path ?? path.resolve(values.directory);
  mkdirSync(directory, { recursive: true });
  const run = {
    date: new Date().toISOString(),
    machine: describeMachine(directory),
    rows: /** @type {import('./operations.mjs').Row[]} */ ([]),
  };
  console.log(describeMachineLine(run.machine));
  mkdirSync(results, { recursive: true });
  const file = `${run.date.replaceAll(/[:.]/g, '-')}-${kinds.map((kind) => kind.name).join('-')}.json`;
  // After every row: a run that is cut short leaves what it has measured.
  const save = () => {
    writeFileSync(path.join(results, file), `${JSON.stringify(run, undefined, 1)}\n`);
  };
  try {
    for (const kind of kinds) {
      const pristine = provideTree(path.join(directory, 'trees'), kind, Number(values.seed));
      const options = {
        kind,
        pristine,
        directory: path.join(directory, 'work'),
        seed: Number(values.seed),
        record: (/** @type {import('./operations.mjs').Row} */ row) => {
          run.rows.push(row);
          save();
          console.log(describeRow(row));
        },
      };
      if (operations.length > 0) await new Comparison(options).run(present, operations);
      if (values.strain || values.all) await strain(options);
      const checkpoints = values.checkpoints ?? (values.all ? '500' : undefined);
      if (checkpoints !== undefined) await manyCheckpoints(options, Number(checkpoints));
    }
  } finally {
    disk?.remove();
  }
  console.log(`\n${describeRuns([run])}\n${describeShares([run])}\n${describeStrain([run])}`);
  if (values.all) runPackageBenches();
}

/** @param {import('./operations.mjs').Row} row */
function describeRow({ tree, operation, peer, measure, kib, facts }) {
  const head = `${tree} · ${operation} · ${peer}: `;
  if (facts !== undefined) return head + JSON.stringify(facts);
  if (measure === undefined) return `${head}${kib} KiB`;
  const peak = measure.peakMiB === undefined ? '' : `, peak ${measure.peakMiB.toFixed(0)} MiB`;
  return `${head}${measure.wall.toFixed(4)} s, cpu ${measure.cpu.toFixed(3)} s${peak}`;
}

/** What packages measure by themselves: queues, appends, openings, sessions side by side. */
function runPackageBenches() {
  for (const { path: directory } of listPackages()) {
    const place = path.join(directory, 'bench');
    if (!existsSync(place)) continue;
    for (const name of readdirSync(place).filter((one) => one.endsWith('.mjs'))) {
      console.log(`\n${path.relative(repositoryRoot, path.join(place, name))}`);
      spawnSync(process.execPath, [path.join(place, name)], { cwd: directory, stdio: 'inherit' });
    }
  }
}

/** Writes what all kept results say into the page, between its two marks. */
function writePage() {
  const runs = readdirSync(results)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map(
      (name) =>
        /** @type {import('./report.mjs').Results} */ (
          JSON.parse(readFileSync(path.join(results, name), 'utf8'))
        ),
    );
  const last = runs.at(-1);
  if (last === undefined) throw new Error('there are no results yet');
  const text = readFileSync(page, 'utf8');
  const marks = /(<!-- figures: begin -->\n)[^]*(<!-- figures: end -->)/;
  if (!marks.test(text)) throw new Error('docs/performance.md has lost its marks');
  const figures = `\nMeasured ${last.date.slice(0, 10)} on ${describeMachineLine(last.machine)}.\n\n${describeRuns(runs)}\n${describeShares(runs)}\n${describeStrain(runs)}\n\n`;
  writeFileSync(
    page,
    text.replace(marks, (_, begin, end) => `${begin}${figures}${end}`),
  );
}

function help() {
  const list = (/** @type {readonly { name: string, about: string }[]} */ rows) =>
    rows.map(({ name, about }) => `  ${name.padEnd(18)}${about}`).join('\n');
  console.log(`npm run bench -- [options]

  --trees LIST       default small,nm
  --peers LIST       default all
  --operations LIST  ${operationNames.join(',')} (default all), or none
  --directory DIR    where trees are kept and work is done (default: in the temporary directory)
  --disk GIB         work on a fresh ext4 with journal, mounted in DIR (needs root). Without a journal ext4 avoids inodes
                     that were deleted in the last minutes, and whatever creates files after deletions looks slow
  --seed N           of trees and edits (default 1)
  --strain           also aborts, memory and event-loop delay of first snapshots
  --checkpoints N    also N checkpoints of ten files each, tidied in between
  --all              --strain --checkpoints 500, and the benches of single packages
  --write-docs       write the tables of all kept results into docs/performance.md, measure nothing

trees:
${list(Object.values(treeKinds))}

peers:
${list(peers)}

Results are kept in bench-results/.`);
}

if (values.help) help();
else if (values['write-docs']) writePage();
else await measure();

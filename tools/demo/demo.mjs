#!/usr/bin/env node
/**
 * The main job, on real input, with nothing simulated: a scripted agent with real tools works in sessions over a copy of
 * this repository, is killed in the middle of an edit, and another process opens the session, shows what happened and
 * brings the directory back. An independent walker judges every claim.
 *
 *   node demo.mjs [--keep] [--tree DIR]
 *
 * One line for each step. Exit code 0: everything proved; 1: a proof failed.
 */
import { constants, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { listTree } from '../oracle/oracle.mjs';
import { fixedRoot } from './fixed-root.mjs';
import { ownRoot } from './own-root.mjs';
import { counts, endChildren, holdfast, ms, repository, short, since, step } from './theatre.mjs';

const { values } = parseArgs({ options: { keep: { type: 'boolean' }, tree: { type: 'string' } } });

const started = performance.now();
const place = mkdtempSync(path.join(realpathSync(tmpdir()), 'holdfast-demo-'));

try {
  await run(path.resolve(values.tree ?? repository));
  step(`proved in ${ms(performance.now() - started)}`);
} catch (error) {
  process.exitCode = 1;
  step(`FAILED: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
} finally {
  endChildren();
  if (values.keep === true) step(`kept in ${place}`);
  else rmSync(place, { recursive: true, force: true, maxRetries: 3 });
}

/** @param {string} source */
async function run(source) {
  const root = path.join(place, 'project');
  const home = path.join(place, 'home');
  const copied = performance.now();
  copyTree(source, root);
  const original = listTree(root);
  step(
    `copied ${source === repository ? 'this repository' : source}: ${counts(original)} in ${since(copied)}`,
  );

  step('an exclusive session on the copy, restored in place:');
  await fixedRoot(home, root, original);

  // Its own files are enough for the second act: installed packages and history have just been through the first.
  const { ref, stats } = await holdfast([
    ...['snapshot', root, '--home', home],
    ...['--ignore', 'node_modules/', '--ignore', '.git/'],
  ]);
  step(`snapshot ${short(ref)} through the command: ${stats.files} files, none of them installed`);
  const seeded = listTree(root).filter(({ path: name }) => !/(^|\/)(node_modules|\.git)(\/|$)/.test(name));
  step('a session with a root of its own, seeded from it and exchanged as a whole:');
  await ownRoot(home, path.join(place, 'workspaces'), ref, seeded, path.join(place, 'materialized'));
}

/**
 * Copies with clones where the file system has them; links stay links.
 * @param {string} from
 * @param {string} to
 */
function copyTree(from, to) {
  mkdirSync(to);
  cpSync(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (name) => path.basename(name) !== '.turbo',
  });
}

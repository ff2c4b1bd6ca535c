import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { compareTrees, listTree } from '../../../tools/oracle/oracle.mjs';
import { applyEdit, editType } from '../src/edits.mjs';
import { replay } from '../src/replay.mjs';
import { openStack } from '../src/stack.mjs';
import { work } from '../src/work.mjs';

const program = fileURLToPath(new URL('../src/persistence.mjs', import.meta.url));

/** @type {string} */
let place;
/** @type {string} */
let home;
/** @type {string} */
let root;

beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), 'holdfast-persistence-'));
  home = path.join(place, 'home');
  root = path.join(place, 'root');
  mkdirSync(root);
});

afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});

/** @param {readonly string[]} words */
function start(words) {
  return spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
}

describe('journal, snapshot, materialize, replay', () => {
  it.each([3, 10, 17])('a directory is rebuilt elsewhere after a kill (after %i edits)', async (edits) => {
    const worker = start(['work', home, root]);
    /** @type {{ done: number, edit: import('../src/edits.mjs').Edit }[]} */
    const acknowledged = [];
    const ended = once(worker, 'close');
    for await (const line of createInterface({ input: worker.stdout })) {
      acknowledged.push(JSON.parse(line));
      if (acknowledged.length === edits) worker.kill('SIGKILL');
    }
    await ended;

    const destination = path.join(place, 'rebuilt');
    mkdirSync(destination);
    const second = start(['replay', home, destination]);
    const parts = await second.stdout.setEncoding('utf8').toArray();
    const { ref, replayed } = JSON.parse(parts.join(''));
    // Nothing that was acknowledged is missing; the journal may have one more, which the kill kept from the files.
    const journalled = await editsOf(home);
    expect(journalled.length - acknowledged.length).toBeGreaterThanOrEqual(0);
    expect(journalled.length - acknowledged.length).toBeLessThanOrEqual(1);
    for (const last of journalled.slice(acknowledged.length)) applyEdit(root, last);
    const inSnapshot = journalled.length - replayed;
    expect([inSnapshot > 0, inSnapshot % 10]).toEqual([ref !== undefined, 0]);
    expect(listTree(destination).filter(isFile).length).toBeGreaterThan(0);
    expect(compareTrees(root, destination).filter(isFile)).toEqual([]);
  });

  it('replays nothing when the last snapshot is the end', async () => {
    const stack = await openStack(home);
    const edits = Array.from({ length: 4 }, (_, index) => ({ path: `${index}.txt`, text: `${index}` }));
    await work(stack, root, edits, { id: 'whole-session', snapshotEvery: 2 });
    const destination = path.join(place, 'rebuilt');
    await expect(replay(stack, 'whole-session', destination)).resolves.toMatchObject({ replayed: 0 });
    expect(compareTrees(root, destination)).toEqual([]);
    await stack.close();
  });
});

/** @param {string} directory @returns {Promise<import('../src/edits.mjs').Edit[]>} */
async function editsOf(directory) {
  const stack = await openStack(directory);
  const view = await stack.sessions.read('persistence');
  const found = [];
  for await (const event of view.events()) {
    if (event.type === editType) found.push(/** @type {import('../src/edits.mjs').Edit} */ (event.body));
  }
  await view.close();
  await stack.close();
  return found;
}

/** Directories that became empty are in snapshots and not in edits. @param {{ path: string }} difference */
function isFile({ path: name }) {
  return name.endsWith('.md');
}

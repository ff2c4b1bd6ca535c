import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { holdfast, temporaryDirectory } from './run-command.js';
import { treeRows } from './tree-rows.js';

/*
 * The real command on a real directory, cut off or interrupted just before one of its changes of the disk. An independent
 * walker judges what is left.
 */

const preload = fileURLToPath(new URL('./fixtures/signal-at-change.mjs', import.meta.url));
/** How many changes each test picks, spread evenly over all of them; `HOLDFAST_KILLS` raises it to a dozen. */
const picks = Math.min(12, Number(process.env['HOLDFAST_KILLS'] ?? 5));

let temporary: ReturnType<typeof temporaryDirectory>;
let base: string;
let root: string;
let home: string;
let ref: string;
let wanted: unknown;
let before: unknown;

const write = (path: string, text: string, mode = 0o644): void => {
  fs.mkdirSync(join(root, path, '..'), { recursive: true });
  fs.writeFileSync(join(root, path), text, { mode });
};

function buildWanted(): void {
  write('keep', 'keep');
  write('a', 'old');
  write('d/deep/x', 'x', 0o400);
  write('becomes-directory', 'a file');
  write('mode', 'm', 0o755);
  fs.symlinkSync('a', join(root, 'link'));
  fs.mkdirSync(join(root, 'becomes-file/inner'), { recursive: true });
  write('becomes-file/inner/y', 'y');
}

function spoil(): void {
  fs.rmSync(root, { recursive: true, force: true });
  fs.mkdirSync(root);
  write('keep', 'keep');
  write('a', 'changed');
  write('becomes-directory/z', 'z');
  write('mode', 'm', 0o600);
  write('becomes-file', 'now a file');
  fs.symlinkSync('elsewhere', join(root, 'link'));
  write('extra', 'extra');
}

beforeEach(async () => {
  temporary = temporaryDirectory();
  base = join(temporary.path, 'base');
  root = join(base, 'ws');
  home = join(temporary.path, 'home');
  fs.mkdirSync(root, { recursive: true });
  buildWanted();
  wanted = treeRows(root);
  ({ ref } = (await holdfast(['snapshot', root, '--home', home, '--json'])).json() as { ref: string });
  spoil();
  before = treeRows(root);
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

const words = (): string[] => ['restore', ref, root, '--home', home, '--json', '--prune', 'exact'];

/** Runs the restore and signals it just before its n-th change; 0: never. */
async function signalled(signal: NodeJS.Signals, nth: number) {
  const counter = join(temporary.path, 'count');
  const result = await holdfast(words(), {
    env: {
      NODE_OPTIONS: `--import=${preload}`,
      HOLDFAST_TEST_SIGNAL: `${signal}:${nth}:${counter}`,
    },
  });
  const changes = fs.existsSync(counter) ? Number(fs.readFileSync(counter, 'utf8')) : 0;
  return { ...result, changes };
}

function* spread(changes: number): Generator<number> {
  const step = Math.max(1, (changes - 1) / (picks - 1));
  for (let at = 1; at <= changes; at += step) yield Math.round(at);
}

const sameAs = (tree: unknown): 'old' | 'new' | 'neither' => {
  const found = JSON.stringify(tree);
  return found === JSON.stringify(before) ? 'old' : found === JSON.stringify(wanted) ? 'new' : 'neither';
};

describe('a restore that is killed', { timeout: 600_000 }, () => {
  it('leaves old or new, recovers, and can be done again', async () => {
    const whole = await signalled('SIGKILL', 0);
    expect(whole.status).toBe(0);
    expect(sameAs(treeRows(root))).toBe('new');
    expect(whole.changes).toBeGreaterThan(60);
    const found = { old: 0, new: 0 };
    for (const nth of spread(whole.changes)) {
      spoil();
      const cut = await signalled('SIGKILL', nth);
      expect(cut.signal, `change ${nth}`).toBe('SIGKILL');
      const recovered: { action: string } = (
        await holdfast(['recover', root, '--home', home, '--json'])
      ).json();
      const state = sameAs(treeRows(root));
      expect(state, `killed before change ${nth}, ${recovered.action}`).not.toBe('neither');
      if (recovered.action === 'undone') expect(state).toBe('old');
      if (recovered.action === 'kept') expect(state).toBe('new');
      if (state !== 'neither') found[state] += 1;
      expect(fs.readdirSync(base), `killed before change ${nth}`).toEqual(['ws']);
      expect((await holdfast(words())).status).toBe(0);
      expect(sameAs(treeRows(root))).toBe('new');
    }
    countForCampaign('restores killed', found.old + found.new);
    expect(found.old).toBeGreaterThan(0);
    expect(found.new).toBeGreaterThan(0);
  });
});

describe('a restore that was killed and whose home is lost', { timeout: 300_000 }, () => {
  it('is recovered by what it left beside the root, and the home that comes back agrees', async () => {
    const { changes } = await signalled('SIGKILL', 0);
    const seen = new Set<string>();
    for (const part of [0.4, 0.7, 0.97]) {
      spoil();
      await signalled('SIGKILL', Math.round(changes * part));
      fs.renameSync(home, join(temporary.path, 'lost'));
      expect((await holdfast(['recover', root, '--home', home, '--json'])).status).toBe(0);
      const state = sameAs(treeRows(root));
      expect(state).not.toBe('neither');
      seen.add(state);
      expect(fs.readdirSync(base)).toEqual(['ws']);
      fs.rmSync(home, { recursive: true });
      fs.renameSync(join(temporary.path, 'lost'), home);
      expect((await holdfast(['recover', root, '--home', home, '--json'])).status).toBe(0);
      expect(sameAs(treeRows(root))).toBe(state);
      expect((await holdfast(words())).status).toBe(0);
      expect(sameAs(treeRows(root))).toBe('new');
    }
    expect([...seen].sort()).toEqual(['new', 'old']);
  });
});

describe('a restore that is interrupted', { timeout: 600_000 }, () => {
  it('ends with 130 and the old tree, or with the new one, and leaves no scratch either way', async () => {
    const { changes } = await signalled('SIGINT', 0);
    const ends = new Map<string, number>();
    for (const nth of spread(changes)) {
      spoil();
      const result = await signalled('SIGINT', nth);
      const end = `${String(result.status)} ${sameAs(treeRows(root))}`;
      ends.set(end, (ends.get(end) ?? 0) + 1);
      expect(['130 old', '0 new'], `interrupted before change ${nth}`).toContain(end);
      if (result.status === 130) expect(result.stdout.toString()).toBe('');
      expect(fs.readdirSync(base), `interrupted before change ${nth}`).toEqual(['ws']);
      // Nothing was left for recovery to do.
      const recovered = (await holdfast(['recover', root, '--home', home, '--json'])).json();
      expect(recovered).toEqual({ action: 'none' });
    }
    expect([...ends.keys()]).toEqual(expect.arrayContaining(['130 old', '0 new']));
  });
});

describe('two commands at once', () => {
  it('restore one root one after another, or one is told who has it', async () => {
    const results = await Promise.all([holdfast(words()), holdfast(words()), holdfast(words())]);
    expect(sameAs(treeRows(root))).toBe('new');
    expect(results.filter(({ status }) => status === 0).length).toBeGreaterThan(0);
    for (const result of results) {
      if (result.status === 0) continue;
      expect(result.error()).toMatchObject({
        code: expect.stringMatching(/^RIG_|^LEASE_|^JOURNAL_/) as string,
      });
    }
    expect(fs.readdirSync(base)).toEqual(['ws']);
  });

  it('recover one interrupted restore once', { timeout: 300_000 }, async () => {
    const { changes } = await signalled('SIGKILL', 0);
    for (const nth of [0.5, 0.65, 0.8].map((part) => Math.round(changes * part))) {
      spoil();
      await signalled('SIGKILL', nth);
      const recover = ['recover', root, '--home', home, '--json'];
      const results = await Promise.all([holdfast(recover), holdfast(recover), holdfast(recover)]);
      for (const result of results.filter(({ status }) => status !== 0)) {
        expect(result.error()).toMatchObject({ code: expect.stringMatching(/BUSY|HELD|IN_USE/) as string });
      }
      expect(results.filter(({ status }) => status === 0).length).toBeGreaterThan(0);
      expect(sameAs(treeRows(root)), `killed before change ${nth}`).not.toBe('neither');
      expect(fs.readdirSync(base)).toEqual(['ws']);
    }
  });
});

describe('a process that stands in the root and reads', () => {
  it('keeps its directory and goes on reading while the root is restored', async () => {
    const script = [
      "const fs = require('node:fs');",
      'let reads = 0;',
      "process.on('SIGTERM', () => { console.log(JSON.stringify({ reads, a: fs.readFileSync('a', 'utf8') })); process.exit(0); });",
      "console.log('ready');",
      "const turn = () => { for (const name of fs.readdirSync('.')) { try { fs.readFileSync(name); reads += 1; } catch (error) { if (!['EISDIR', 'ENOENT'].includes(error.code)) throw error; } } setImmediate(turn); };",
      'turn();',
    ].join('\n');
    const child = spawn(process.execPath, ['-e', script], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk.toString()));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const result = await holdfast(words());
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('close', resolve));
    expect(result.status).toBe(0);
    expect(sameAs(treeRows(root))).toBe('new');
    const last = JSON.parse(lines.at(-1) ?? '') as { reads: number; a: string };
    expect(last.reads).toBeGreaterThan(10);
    // Still the same directory, with what the restore left in it.
    expect(last.a).toBe('old');
  });
});

import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { defineRig, exclusiveWorkspace, openLocal } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { holdfast, temporaryDirectory } from './run-command.js';
import { treeRows } from './tree-rows.js';

/** The session commands, alone and beside a live owner, through the real command and real processes. */

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;
let home: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  root = join(temporary.path, 'ws');
  home = join(temporary.path, 'home');
  fs.mkdirSync(root);
  fs.writeFileSync(join(root, 'a.txt'), 'one');
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

interface LogRow {
  readonly type: string;
  readonly trigger?: string;
  readonly ref?: string;
  readonly id: string;
}

const run = async <T>(...words: string[]): Promise<T> =>
  (await holdfast([...words, '--home', home, '--json'])).json() as T;

describe('sessions through the command', () => {
  it('begins, checkpoints, restores, undoes and shows the timeline', async () => {
    const { id, ref: first } = await run<{ id: string; ref: string }>(
      'session',
      'new',
      root,
      '--title',
      'a title',
    );
    expect(first).toMatch(/^v1:sha256:/);
    const before = treeRows(root);
    fs.writeFileSync(join(root, 'a.txt'), 'two');
    fs.writeFileSync(join(root, 'b.txt'), 'new');
    const changed = treeRows(root);
    const { ref: second } = await run<{ ref: string }>('session', 'checkpoint', id);
    expect(second).not.toBe(first);

    const plan = await run<{ replace: unknown[]; delete: unknown[] }>(
      'session',
      'restore',
      id,
      '@prev',
      '--dry-run',
    );
    expect([plan.replace.length, plan.delete.length]).toEqual([1, 1]);
    expect(treeRows(root)).toEqual(changed);
    const receipt = await run<{ exact: boolean; safetyRef: string }>('session', 'restore', id, first);
    expect(receipt.exact).toBe(true);
    expect(treeRows(root)).toEqual(before);
    await run('session', 'undo', id);
    expect(treeRows(root)).toEqual(changed);

    const log = await run<LogRow[]>('session', 'log', id);
    const refs = log.filter((row) => row.type === 'WorkspaceRestored').map((row) => row.ref);
    expect(refs).toEqual([first, receipt.safetyRef]);
    expect(log.filter((row) => row.trigger === 'baseline')).toHaveLength(1);
    const [listed] = await run<{ id: string; title: string }[]>('session', 'list');
    expect(listed).toMatchObject({ id, title: 'a title', placement: { mode: 'exclusive', root } });
  });

  it('names in its lists what other commands ask for: the root, and the event to rewind to', async () => {
    const text = async (...words: string[]): Promise<string> =>
      (await holdfast([...words, '--home', home])).stdout.toString();
    const id = (await text('session', 'new', root, '--title', 'a title')).trim();
    expect(await text('session', 'list')).toMatch(new RegExp(`^${id}  \\S+  stopped  ${root}  a title\n$`));
    const before = treeRows(root);
    fs.mkdirSync(join(root, 'made/since'), { recursive: true });
    const [, event] = / baseline .* event (\S+) /.exec(await text('session', 'log', id)) ?? [];
    expect((await run<LogRow[]>('session', 'log', id)).map((row) => row.id)).toContain(event);
    expect(await text('session', 'rewind', id, event as string, '--prune', 'exact', '--yes')).toContain(
      `to undo: holdfast session undo ${id} --home ${home}\n`,
    );
    expect(treeRows(root)).toEqual(before);
  });

  it('shows what a rewind and an undo would change, and changes nothing', async () => {
    const { id, ref } = await run<{ id: string; ref: string }>('session', 'new', root);
    const before = treeRows(root);
    const early = await holdfast(['session', 'undo', id, '--dry-run', '--home', home, '--json']);
    expect([early.status, early.error()['code']]).toEqual([1, 'SESSION_POINT']);
    fs.writeFileSync(join(root, 'a.txt'), 'two');
    fs.mkdirSync(join(root, 'made'));
    const changed = treeRows(root);
    const log = await run<LogRow[]>('session', 'log', id);
    const point = log.find((row) => row.trigger === 'baseline')?.id as string;
    const rewind = await run<{ ref: string; replace: unknown[] }>(
      'session',
      'rewind',
      id,
      point,
      '--dry-run',
    );
    expect([rewind.ref, rewind.replace.length]).toEqual([ref, 1]);
    expect(treeRows(root)).toEqual(changed);
    const receipt = await run<{ safetyRef: string }>('session', 'rewind', id, point, '--prune', 'exact');
    expect(treeRows(root)).toEqual(before);
    const undo = await run<{ ref: string; mkdir: unknown[] }>('session', 'undo', id, '--dry-run');
    expect([undo.ref, undo.mkdir.length]).toEqual([receipt.safetyRef, 1]);
    const text = await holdfast(['session', 'undo', id, '--dry-run', '--home', home]);
    expect(text.stdout.toString()).toContain('make directory made');
    expect(treeRows(root)).toEqual(before);
    await run('session', 'undo', id);
    expect(treeRows(root)).toEqual(changed);
  });

  it('refuses a restore nobody confirmed and a session nobody knows', async () => {
    const { id, ref } = await run<{ id: string; ref: string }>('session', 'new', root);
    const unasked = await holdfast(['session', 'restore', id, ref, '--home', home]);
    expect([unasked.status, unasked.stderr.includes('CLI_CONFIRMATION')]).toEqual([1, true]);
    const unknown = await holdfast(['session', 'log', 'no-such-session', '--home', home, '--json']);
    expect(unknown.error()).toMatchObject({ code: 'JOURNAL_SESSION_NOT_FOUND' });
  });
});

describe('the id of a session', () => {
  it('may be cut to its beginning wherever it is asked for, as long as it is that of one session', async () => {
    await using local = await openLocal(home);
    const rig = defineRig(local.fragment, {
      workspace: exclusiveWorkspace(local.store, root, local.leaser),
      snapshots: { trigger: 'manual' },
    });
    for (const id of ['session-0001', 'session-0002', 'another-one'])
      await (await rig.newSession({ id })).shutdown();
    await local.close();
    const second = await run<{ id: string }>('session', 'checkpoint', 'another-');
    expect(second.id).toBe('another-one');
    const event = (await run<LogRow[]>('session', 'log', 'another-'))[1]?.id as string;
    await run('session', 'restore', 'another-', '@last');
    await run('session', 'rewind', 'another-', event);
    await run('session', 'undo', 'another-');
    const rows = await run<LogRow[]>('session', 'log', 'another-one');
    expect(rows.filter(({ type }) => type === 'WorkspaceRestored')).toHaveLength(3);

    for (const [given, code, advice] of [
      [
        'session-',
        'JOURNAL_AMBIGUOUS_SESSION_ID',
        '(session-0001, session-0002); give more characters, holdfast session list',
      ],
      ['session-0003', 'JOURNAL_SESSION_NOT_FOUND', 'does not exist: holdfast session list shows'],
      ['another', 'JOURNAL_INVALID_SESSION_ID', 'holdfast session list shows ids, and the first 8'],
    ] as const) {
      for (const words of [
        ['log', given],
        ['checkpoint', given],
        ['restore', given, '@last', '--yes'],
        ['rewind', given, event, '--yes'],
        ['undo', given, '--yes'],
      ]) {
        const refused = await holdfast(['session', ...words, '--home', home]);
        expect([refused.status, refused.stdout.toString()], words.join(' ')).toEqual([1, '']);
        expect(refused.stderr, words.join(' ')).toContain(`[${code}]`);
        expect(refused.stderr, words.join(' ')).toContain(advice);
      }
    }
  });
});

describe('what a checkpoint of a session left out', () => {
  it('is told as after a snapshot, in words and in JSON', async () => {
    fs.writeFileSync(join(root, 'big'), Buffer.alloc(5000));
    fs.chmodSync(join(root, 'a.txt'), 0o4755);
    const began = await holdfast(['session', 'new', root, '--max-file-size', '1k', '--home', home]);
    const told = 'not captured (limit): big\nmetadata not captured (setuid): a.txt\n';
    expect(began.stderr).toContain(told);
    const id = began.stdout.toString().trim();
    const text = await holdfast(['session', 'checkpoint', id, '--max-file-size', '1k', '--home', home]);
    expect(text.stderr).toMatch(/^1 entry, 1 file, 3 B; read .*\n/);
    expect(text.stderr).toContain(told);
    const words = ['session', 'checkpoint', id, '--max-file-size', '1k'];
    expect(await run(...words)).toMatchObject({
      id,
      ref: text.stdout.toString().trim(),
      stats: { files: 1 },
      coverage: {
        omitted: [{ path: 'big', reason: 'limit' }],
        dropped: [{ path: 'a.txt', what: 'setuid' }],
        raced: [],
      },
    });
  });
});

describe('a fork of a session', () => {
  it('begins elsewhere with the files of a checkpoint, and the other one goes on', async () => {
    const { id, ref } = await run<{ id: string; ref: string }>('session', 'new', root);
    const first = treeRows(root);
    fs.writeFileSync(join(root, 'a.txt'), 'two');
    const second = treeRows(root);
    await run('session', 'checkpoint', id);
    const point = (await run<LogRow[]>('session', 'log', id)).find((row) => row.ref === ref)?.id as string;
    const [early, late] = ['early', 'late'].map((name) => join(temporary.path, name)) as [string, string];
    fs.mkdirSync(early);
    const words = ['session', 'fork', id.slice(0, 12)];
    expect(await run(...words, early, '--at', point, '--title', 'other way')).toMatchObject({
      ...{ ref, root: early, placement: 'exclusive' },
      coverage: { omitted: [], dropped: [], raced: [] },
    });
    expect(treeRows(early)).toEqual(first);
    const { id: fork } = await run<{ id: string }>(...words, late);
    expect([treeRows(late), treeRows(root)]).toEqual([second, second]);
    expect(fork).not.toBe(id);
    await run('session', 'restore', fork, ref);
    expect([treeRows(late), treeRows(root)]).toEqual([first, second]);
    // Nothing is written where something is, nor left of what was refused.
    const filled = await holdfast([...words, early, '--home', home, '--json']);
    expect(filled.error()).toMatchObject({ code: 'RIG_SEED', kind: 'root-not-empty' });
    const nowhere = join(temporary.path, 'nowhere');
    const unknown = await holdfast([...words, nowhere, '--at', 'no-point', '--home', home, '--json']);
    expect([unknown.error()['code'], fs.existsSync(nowhere)]).toEqual(['SESSION_POINT', false]);
    expect(await run('session', 'list')).toHaveLength(3);
  });
});

describe('a deleted session', () => {
  it('is gone with its timeline; its files stay, and its snapshots until the next gc', async () => {
    const { id, ref } = await run<{ id: string; ref: string }>('session', 'new', root);
    const before = treeRows(root);
    const unasked = await holdfast(['session', 'delete', id, '--home', home]);
    expect([unasked.status, unasked.stderr]).toEqual([
      1,
      'holdfast: confirmation needs a terminal; pass --yes to go ahead; nothing was touched [CLI_CONFIRMATION]\n',
    ]);
    expect(await run('session', 'delete', id.slice(0, 12))).toEqual({ id, root });
    expect(treeRows(root)).toEqual(before);
    expect(await run('session', 'list')).toEqual([]);
    const again = await holdfast(['session', 'delete', id, '--yes', '--home', home]);
    expect(again.stderr).toContain('[JOURNAL_SESSION_NOT_FOUND]');
    await run('ls', ref);
    // Known to be deleted: no collection misses it.
    await run('gc');
  });

  it('may have lost its root, or have something else in its place', async () => {
    const ids: string[] = [];
    for (const place of ['gone', 'replaced']) {
      fs.mkdirSync(join(temporary.path, place));
      ids.push((await run<{ id: string }>('session', 'new', join(temporary.path, place))).id);
      fs.rmdirSync(join(temporary.path, place));
    }
    fs.writeFileSync(join(temporary.path, 'replaced'), 'a file');
    for (const id of ids) await run('session', 'delete', id);
    expect(await run('session', 'list')).toEqual([]);
    expect(fs.existsSync(join(temporary.path, 'gone'))).toBe(false);
    expect(fs.readFileSync(join(temporary.path, 'replaced'), 'utf8')).toBe('a file');
  });
});

describe('garbage collection over sessions', () => {
  it('keeps what journals need, deletes what a policy lets go, and explains both', async () => {
    const { id, ref: first } = await run<{ id: string; ref: string }>('session', 'new', root);
    const refs = [first];
    for (let step = 0; step < 4; step += 1) {
      fs.writeFileSync(join(root, 'a.txt'), `step ${step} ${'x'.repeat(2000 + step)}`);
      refs.push((await run<{ ref: string }>('session', 'checkpoint', id)).ref);
    }
    const nothing = await run<{ deleted: { records: number } }>('gc');
    expect(nothing.deleted.records).toBe(0);
    const explained = await run<{ holders: { kind: string; id: string }[] }>('explain', first);
    expect(explained.holders).toEqual([expect.objectContaining({ kind: 'session', id })]);

    const dry = await run<{ deleted: { records: number } }>('gc', '--keep-last', '2', '--dry-run');
    expect(dry.deleted.records).toBeGreaterThan(0);
    await run('ls', first);
    const collected = await run<{ deleted: { records: number } }>('gc', '--keep-last', '2');
    expect(collected.deleted.records).toBe(dry.deleted.records);
    for (const kept of refs.slice(-2)) await run('ls', kept);
    const gone = await holdfast(['ls', first, '--home', home, '--json']);
    expect(gone.status).toBe(1);
    expect((await run<{ problems: unknown[] }>('verify', '--deep')).problems).toEqual([]);
    // The session still opens and goes on.
    fs.writeFileSync(join(root, 'a.txt'), 'after');
    await run('session', 'checkpoint', id);
  });

  it('deletes nothing in a home without any journal', async () => {
    await using local = await openLocal(home);
    const { ref, hold } = await local.store.snapshot(root);
    local.store.release(hold);
    await local.store.close();
    const report = await run<{ deleted: { archives: number }; kept: { archives: number } }>('gc');
    expect(report).toMatchObject({ deleted: { archives: 0 }, kept: { archives: 1 } });
    await run('ls', ref);
  });
});

describe('beside a live session', () => {
  it('asks the owner for log, checkpoint, preview and restore; refuses a snapshot of its root; collects around it', async () => {
    const fixture = new URL('./fixtures/live-session.mjs', import.meta.url).pathname;
    const child = spawn(process.execPath, [fixture, home, root], { stdio: ['pipe', 'pipe', 'inherit'] });
    const closed = new Promise((resolve) => child.once('close', resolve));
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const { id, ref } = JSON.parse((await lines.next()).value as string) as { id: string; ref: string };
      const before = treeRows(root);
      fs.writeFileSync(join(root, 'a.txt'), 'two');
      const second = await run<{ ref: string }>('session', 'checkpoint', id);
      expect(second).toMatchObject({
        stats: { files: 1 },
        coverage: { omitted: [], dropped: [], raced: [] },
      });
      const log = await run<LogRow[]>('session', 'log', id);
      expect(log.filter((row) => row.type === 'WorkspaceCheckpointed').map((row) => row.ref)).toEqual([
        ref,
        second.ref,
      ]);
      await run('gc', '--keep-last', '1');
      const plan = await run<{ replace: unknown[] }>('session', 'restore', id, ref, '--dry-run');
      expect(plan.replace).toHaveLength(1);
      const point = log.find((row) => row.ref === ref)?.id as string;
      expect(await run('session', 'rewind', id, point, '--dry-run')).toEqual(plan);
      await run('session', 'restore', id, ref);
      expect(treeRows(root)).toEqual(before);
      const undo = await run<{ ref: string }>('session', 'undo', id, '--dry-run');
      expect(undo).toMatchObject({ ref: second.ref, replace: plan.replace });
      expect(treeRows(root)).toEqual(before);

      const busy = await holdfast(['snapshot', root, '--home', home, '--json']);
      expect(busy.status).toBe(1);
      expect(busy.error()).toMatchObject({
        code: 'RIG_ROOT_BUSY',
        owner: expect.objectContaining({ pid: child.pid }) as object,
      });
      const told = await holdfast(['snapshot', root, '--home', home]);
      expect(told.stderr).toContain(`: holdfast session checkpoint ${id}, and session restore ${id} REF,`);
      for (const words of [
        ['delete', id],
        ['fork', id, join(temporary.path, 'fork')],
      ]) {
        const live = await holdfast(['session', ...words, '--home', home, '--json']);
        expect(live.error()).toMatchObject({ code: 'CLI_SESSION_LIVE', kind: 'open', sessionId: id });
      }
      expect(fs.existsSync(join(temporary.path, 'fork'))).toBe(false);
      expect((await run<LogRow[]>('session', 'log', id)).length).toBeGreaterThan(0);
    } finally {
      child.stdin.end();
      await closed;
    }
  });
});

import * as fs from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { runCommand } from '@holdfast/cli';
import { defineRig, exclusiveWorkspace, openLocal } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { fakeIo } from '../../cli/test/fake-io.js';
import { type OwnerProcess, startOwner } from './owner-process.js';
import { holdfast, temporaryDirectory } from './run-command.js';
import { treeRows } from './tree-rows.js';

/** The command beside processes that own a session or a root: right, or refused with the owner's name. */

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;
let home: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  root = join(temporary.path, 'ws');
  home = join(temporary.path, 'home');
  fs.mkdirSync(root);
  write('a.txt', 'one');
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

function write(name: string, text: string): void {
  fs.mkdirSync(join(root, name, '..'), { recursive: true });
  fs.writeFileSync(join(root, name), text);
}

const read = (name: string): string => fs.readFileSync(join(root, name), 'utf8');

const run = async <T>(...words: string[]): Promise<T> =>
  (await holdfast([...words, '--home', home, '--json'])).json() as T;

const refused = async (...words: string[]): Promise<Record<string, unknown>> => {
  const result = await holdfast([...words, '--home', home, '--json']);
  expect([result.status, result.stdout.toString()], words.join(' ')).toEqual([1, '']);
  return result.error();
};

/** What people read when the same is refused. */
const told = async (...words: string[]): Promise<string> =>
  (await holdfast([...words, '--home', home])).stderr;

/** A restore that the owner does for another process, with its pause. */
async function restoreThrough(owner: OwnerProcess, ref: string, ...words: string[]): Promise<void> {
  const restored = run('session', 'restore', owner.id, ref, ...words);
  await Promise.race([owner.next(), restored]);
  owner.send('go-on');
  await restored;
}

async function expectBusy(owner: OwnerProcess, ref: string): Promise<void> {
  for (const words of [
    ['snapshot', root],
    ['restore', ref, root],
    ['restore', ref, root, '--dry-run'],
    ['recover', root],
  ]) {
    expect(await refused(...words)).toMatchObject({
      code: 'RIG_ROOT_BUSY',
      owner: expect.objectContaining({ pid: owner.pid }) as object,
    });
  }
  const text = await told('snapshot', root);
  expect(text).toContain(`is held by process ${owner.pid}`);
  expect(text).not.toContain('{');
}

describe('beside a session', () => {
  it('that lives: its root is its own, its rules of capture too', async () => {
    await using owner = await startOwner(home, root, 'exclusive');
    await expectBusy(owner, owner.ref);
    const options = [
      ['session', 'checkpoint', owner.id],
      ['session', 'restore', owner.id, owner.ref, '--dry-run'],
      ['session', 'undo', owner.id],
    ];
    for (const words of options) {
      expect(await refused(...words, '--ignore', '*.txt')).toMatchObject({
        code: 'CLI_SESSION_LIVE',
        kind: 'captures',
        owner: expect.objectContaining({ pid: owner.pid }) as object,
      });
    }
    expect(await told('session', 'checkpoint', owner.id, '--max-file-size', '1k')).toMatch(
      new RegExp(`live in process ${owner.pid}.*leave --ignore`),
    );
  });

  it('that lives: gc takes nothing that it needs, and the session goes on', async () => {
    await using owner = await startOwner(home, root, 'exclusive');
    for (const text of ['two', 'three']) {
      write('a.txt', text.repeat(1000));
      await run('session', 'checkpoint', owner.id);
    }
    await run('gc', '--keep-last', '1', '--grace', '0s');
    expect(await run<unknown[]>('session', 'log', owner.id)).not.toEqual([]);
    await restoreThrough(owner, owner.ref);
    expect(read('a.txt')).toBe('one');
    expect((await run<{ problems: unknown[] }>('verify', '--deep')).problems).toEqual([]);
  });

  it('whose restore is running: the log is read, gc keeps what it needs, others wait or are refused', async () => {
    await using owner = await startOwner(home, root, 'exclusive');
    write('a.txt', 'two'.repeat(1000));
    const { ref: second } = await run<{ ref: string }>('session', 'checkpoint', owner.id);
    const before = treeRows(root);
    await owner.call('restore', { ref: owner.ref });
    expect(treeRows(root)).toEqual(before);

    const log = await run<{ type: string }[]>('session', 'log', owner.id);
    expect(log.some(({ type }) => type === 'WorkspaceRestored')).toBe(false);
    await expectBusy(owner, second);
    await run('gc', '--keep-last', '1', '--grace', '0s');
    const checkpoint = holdfast(['session', 'checkpoint', owner.id, '--home', home, '--json']);
    const back = holdfast(['session', 'restore', owner.id, second, '--home', home, '--json']);
    // Neither of them is let in while the restore has the workspace.
    const early = await Promise.race([checkpoint, back, holdfast(['--version']).then(() => undefined)]);
    if (early !== undefined) expect(early.status, early.stderr).toBe(1);
    expect(treeRows(root)).toEqual(before);

    const receipt = await owner.call<{ result: { exact: boolean } }>('go-on');
    expect(receipt.result.exact).toBe(true);
    // The second restore pauses too, if it was not refused.
    const outcome = await Promise.race([back, owner.next<{ paused: boolean }>()]);
    if ('paused' in outcome) owner.send('go-on');
    for (const { status, stderr } of [await checkpoint, await back]) {
      if (status !== 0)
        expect(JSON.parse(stderr)).toMatchObject({ error: { remoteCode: expect.any(String) as string } });
    }
    const problems = (await run<{ problems: unknown[] }>('verify', '--deep')).problems;
    expect(problems).toEqual([]);
  });

  it('whose process is stopped: what has to ask it names it, gc keeps everything of it', async () => {
    await using owner = await startOwner(home, root, 'exclusive');
    write('a.txt', 'two'.repeat(1000));
    const { ref: second } = await run<{ ref: string }>('session', 'checkpoint', owner.id);
    owner.signal('SIGSTOP');
    for (const words of [
      ['session', 'log', owner.id],
      ['session', 'restore', owner.id, owner.ref],
    ]) {
      expect(await refused(...words)).toMatchObject({
        code: 'CLI_SESSION_LIVE',
        kind: 'silent',
        owner: expect.objectContaining({ pid: owner.pid }) as object,
      });
    }
    await expectBusy(owner, second);
    await run('gc', '--keep-last', '1', '--grace', '0s');
    owner.signal('SIGCONT');
    await restoreThrough(owner, owner.ref);
    expect(read('a.txt')).toBe('one');
    for (const ref of [owner.ref, second]) await run('ls', ref);
  });

  it('that was killed: the next command takes it over', async () => {
    await using owner = await startOwner(home, root, 'exclusive');
    owner.signal('SIGKILL');
    write('b.txt', 'after');
    await expect
      .poll(async () => (await holdfast(['session', 'checkpoint', owner.id, '--home', home])).status)
      .toBe(0);
    const log = await run<{ trigger?: string }[]>('session', 'log', owner.id);
    expect(
      log.filter(({ trigger }) => trigger === 'recovered' || trigger === 'manual').length,
    ).toBeGreaterThan(0);
  });
});

describe('beside a command', () => {
  it('that restores a root: the root is its own, gc takes nothing that it needs', async () => {
    await using owner = await startOwner(home, root, 'bare');
    write('a.txt', 'two'.repeat(1000));
    await owner.call('restore', { ref: owner.ref });
    await expectBusy(owner, owner.ref);
    await run('gc', '--grace', '0s');
    expect(await run<{ holders: unknown[] }>('explain', owner.ref)).toMatchObject({
      holders: [expect.objectContaining({ kind: 'root', title: root })],
    });
    owner.signal('SIGCONT');
    const { result } = await owner.next<{ result: { safetyRef: string } }>();
    expect(read('a.txt')).toBe('one');
    await run('ls', result.safetyRef);
    expect((await run<{ problems: unknown[] }>('verify', '--deep')).problems).toEqual([]);
  });

  it('on a root in which another one is live: a restore is refused, whoever has which', async () => {
    const inner = join(root, 'inner');
    write('inner/b.txt', 'deep');
    const { ref } = await run<{ ref: string }>('snapshot', root);
    await using owner = await startOwner(home, inner, 'exclusive');
    write('a.txt', 'two');
    expect(await refused('restore', ref, root)).toMatchObject({
      code: 'RIG_ROOT_NESTED',
      root,
      other: inner,
    });
    expect(read('a.txt')).toBe('two');
    expect(await refused('session', 'new', root)).toMatchObject({ code: 'RIG_ROOT_NESTED', other: inner });
    await owner[Symbol.asyncDispose]();
    await run('restore', ref, root);
    expect(read('a.txt')).toBe('one');
  });
});

describe('two sessions and a person on one shared root (T7)', () => {
  it('a restore through the command touches what is its own', async () => {
    write('frontend/app.ts', '1');
    write('backend/server.go', '1');
    await using a = await startOwner(home, root, 'shared');
    await using b = await startOwner(home, root, 'shared');
    expect(await a.call('write', { path: 'frontend/app.ts', content: '2' })).toEqual({
      result: { status: 'done' },
    });
    expect(await b.call('write', { path: 'backend/server.go', content: '2' })).toEqual({
      result: { status: 'done' },
    });
    write('backend/server.go', '3');

    const plan = await run<{ conflicts: unknown[] }>('session', 'restore', a.id, a.ref, '--dry-run');
    expect(plan.conflicts).toEqual([{ path: 'backend/server.go', reason: 'foreign' }]);
    expect(await refused('session', 'restore', a.id, a.ref)).toMatchObject({
      code: 'SESSION_CONTROL_CALL',
      remoteKind: 'concurrent-change',
    });
    expect([read('frontend/app.ts'), read('backend/server.go')]).toEqual(['2', '3']);

    await restoreThrough(a, a.ref, '--paths', 'frontend');
    expect([read('frontend/app.ts'), read('backend/server.go')]).toEqual(['1', '3']);
  });
});

it('capture options of the session commands reach the capture', async () => {
  write('big.bin', 'x'.repeat(5000));
  write('noise.log', 'noise');
  const rules = ['--ignore', '*.log', '--max-file-size', '4k'];
  const { id, ref } = await run<{ id: string; ref: string }>('session', 'new', root, ...rules);
  const names = async (of: string): Promise<string[]> =>
    (await run<{ path: string }[]>('ls', of)).map(({ path }) => path).sort();
  expect(await names(ref)).toEqual(['a.txt']);
  write('a.txt', 'two');
  const { ref: second } = await run<{ ref: string }>('session', 'checkpoint', id, ...rules);
  expect(await names(second)).toEqual(['a.txt']);
  await run('session', 'restore', id, ref, ...rules);
  await run('session', 'undo', id, ...rules);
  expect([read('a.txt'), read('noise.log'), read('big.bin').length]).toEqual(['two', 'noise', 5000]);
  const { ref: all } = await run<{ ref: string }>('session', 'checkpoint', id);
  expect(await names(all)).toEqual(['a.txt', 'big.bin', 'noise.log']);
});

it('options for a capture are refused in the process of the owner as well', async () => {
  await using local = await openLocal(home);
  await using owner = await startOwner(home, root, 'exclusive');
  const io = fakeIo();
  const words = ['session', 'checkpoint', owner.id, '--on-unreadable', 'omit', '--json'];
  const open = async () => await Promise.resolve(local);
  expect(await runCommand(words, { io, openLocal: open, version: '0.0.0' })).toBe(1);
  expect(JSON.parse(io.err())).toMatchObject({ error: { code: 'CLI_SESSION_LIVE', kind: 'captures' } });
});

it('an owner of an older version, which cannot show a rewind or an undo, is named for --dry-run and asked without it', async () => {
  const runtimeDirectory = join(temporary.path, 'run');
  await using local = await openLocal(home, { runtimeDirectory });
  const rig = defineRig(local.fragment, {
    workspace: exclusiveWorkspace(local.store, root, local.leaser),
    snapshots: { trigger: 'manual' },
  });
  await using session = await rig.newSession();
  const socket = (await local.sessions.owner(session.id))?.['socket'] as string;
  fs.unlinkSync(socket);
  const asked: string[] = [];
  const server = createServer((connection) => {
    createInterface(connection).on('line', (line) => {
      const { id, method } = JSON.parse(line) as { id: number; method: string };
      asked.push(method);
      const error = { code: '', message: `unknown method ${JSON.stringify(method)}` };
      connection.write(`${JSON.stringify(method === 'describe' ? { id, result: {} } : { id, error })}\n`);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(socket, resolve);
  });
  try {
    for (const words of [
      ['session', 'undo', session.id],
      ['session', 'rewind', session.id, 'a-point'],
    ]) {
      const io = fakeIo({ terminal: true, answers: ['n'] });
      const open = async () => await Promise.resolve({ ...local, close: () => Promise.resolve() });
      const options = { io, openLocal: open, version: '0.0.0' };
      expect(await runCommand([...words, '--dry-run', '--json'], options)).toBe(1);
      expect(JSON.parse(io.err())).toMatchObject({ error: { code: 'CLI_SESSION_LIVE', kind: 'older' } });
      expect(await runCommand(words, options)).toBe(1);
      expect(io.err()).toContain('cannot show what would change\ngo ahead? [y/N] ');
      expect(io.err()).toContain('CLI_CONFIRMATION');
    }
    expect(asked.filter((method) => method !== 'describe')).toEqual([
      ...['previewUndo', 'previewUndo', 'previewRewind', 'previewRewind'],
    ]);
  } finally {
    server.close();
  }
});

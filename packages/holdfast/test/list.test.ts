import * as fs from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { startOwner } from './owner-process.js';
import { holdfast, temporaryDirectory } from './run-command.js';

/** `holdfast list`: a ref that nobody wrote down is found again. */

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;
let other: string;
let home: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  const place = fs.realpathSync(temporary.path);
  [root, other, home] = ['ws', 'other', 'home'].map((name) => join(place, name)) as [string, string, string];
  for (const directory of [root, other]) fs.mkdirSync(directory);
  fs.writeFileSync(join(root, 'a.txt'), 'one');
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

interface Listed {
  readonly snapshots: readonly {
    readonly ref: string;
    readonly trigger: string;
    readonly kind: string;
    readonly root: string | null;
    readonly stored: boolean;
  }[];
  readonly unread: readonly unknown[];
}

const run = async <T>(...words: string[]): Promise<T> =>
  (await holdfast([...words, '--home', home, '--json'])).json() as T;

const snapshot = async (directory: string, text: string): Promise<string> => {
  fs.writeFileSync(join(directory, 'a.txt'), text);
  return (await run<{ ref: string }>('snapshot', directory)).ref;
};

describe('list', () => {
  it('shows the snapshots of a directory, newest first, with what they were taken for', async () => {
    const first = await snapshot(root, 'one');
    const second = await snapshot(root, 'two');
    await snapshot(other, 'three');
    const { safetyRef } = await run<{ safetyRef: string }>('restore', first, root);
    const listed = await run<Listed>('list', root);
    expect(listed).toEqual({
      snapshots: [
        [safetyRef, 'safety'],
        [second, 'manual'],
        [first, 'manual'],
      ].map(([ref, trigger]) => ({
        ...{ ref, trigger, root, kind: 'root', title: null, stored: true },
        id: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        time: expect.any(Number) as number,
      })),
      unread: [],
    });
    const text = await holdfast(['list', '--home', home, '--limit', '2'], { cwd: root });
    const digits = (ref: string): string => ref.slice('v1:sha256:'.length).slice(0, 12);
    expect(text.stdout.toString()).toMatch(
      new RegExp(`^\\S+Z  ${digits(safetyRef)}  safety\n\\S+Z  ${digits(second)}  manual\n$`),
    );
    expect(text.stderr).toContain('1 older snapshot not shown');
    // What it shows is what other commands take.
    await run('ls', digits(first));
  });

  it('finds what was taken of a directory that is gone, or is named through a link', async () => {
    const ref = await snapshot(root, 'one');
    fs.symlinkSync(root, join(home, '..', 'alias'));
    expect((await run<Listed>('list', join(home, '..', 'alias'))).snapshots).toMatchObject([{ ref }]);
    fs.rmSync(root, { recursive: true });
    expect((await run<Listed>('list', root)).snapshots).toMatchObject([{ ref }]);
  });

  it('shows every directory, session and import with --all', async () => {
    const ref = await snapshot(root, 'one');
    const { id, ref: baseline } = await run<{ id: string; ref: string }>(
      'session',
      'new',
      root,
      '--title',
      'mine',
    );
    fs.writeFileSync(join(other, 'b.txt'), 'other');
    const elsewhere = await snapshot(other, 'two');
    const tar = await holdfast(['export', ref, '--home', home]);
    const imported = await holdfast(['import', '--home', home, '--json'], { input: tar.stdout });
    const { snapshots } = await run<Listed>('list', '--all');
    expect(snapshots).toMatchObject([
      { ref: (imported.json() as { ref: string }).ref, kind: 'imports', root: null },
      { ref: elsewhere, kind: 'root', root: other },
      { ref: baseline, kind: 'session', id, root, title: 'mine', trigger: 'baseline' },
      { ref, kind: 'root', root },
    ]);
    // What a session took of a directory is listed with it.
    expect((await run<Listed>('list', root)).snapshots.map(({ kind }) => kind)).toEqual(['session', 'root']);
    const text = (await holdfast(['list', '--all', '--home', home])).stdout.toString();
    expect(text).toMatch(new RegExp(`  baseline   ${root}  session ${id}  mine\n`));
    expect(text).toMatch(/ {2}manual {5}imported\n/);
  });

  it('asks the owner of a live session', async () => {
    await using owner = await startOwner(home, root, 'exclusive');
    fs.writeFileSync(join(root, 'a.txt'), 'two');
    const { ref } = await run<{ ref: string }>('session', 'checkpoint', owner.id);
    expect((await run<Listed>('list', root)).snapshots).toMatchObject([
      { ref, trigger: 'manual' },
      { ref: owner.ref, trigger: 'baseline' },
    ]);
  });

  it('says which snapshots a collection has let go', async () => {
    const first = await snapshot(root, 'x'.repeat(3000));
    const second = await snapshot(root, 'y'.repeat(3000));
    await run('gc', '--keep-last', '1', '--grace', '0s');
    const listed = await run<Listed>('list', root);
    expect(listed.snapshots).toMatchObject([
      { ref: second, stored: true },
      { ref: first, stored: false },
    ]);
    expect((await holdfast(['list', root, '--home', home])).stdout.toString()).toMatch(/collected.*\n$/);
  });

  it('makes no home, and says so where there is nothing', async () => {
    const result = await holdfast(['list', root, '--home', home, '--json']);
    expect([result.status, result.error()['code']]).toEqual([1, 'CLI_HOME']);
    expect(fs.existsSync(home)).toBe(false);
    await snapshot(root, 'one');
    const nothing = await holdfast(['list', other, '--home', home]);
    expect([nothing.status, nothing.stdout.toString()]).toEqual([0, '']);
    expect(nothing.stderr).toContain(`no snapshots of ${other} in this home; --all lists`);
    for (const words of [
      ['list', root, '--all'],
      ['list', '--limit', 'few'],
    ]) {
      expect((await holdfast([...words, '--home', home])).status, words.join(' ')).toBe(2);
    }
  });

  it('reports a journal that cannot be read, lists the rest, and is not done', async () => {
    const ref = await snapshot(root, 'one');
    await using owner = await startOwner(home, other, 'exclusive');
    owner.signal('SIGSTOP');
    const result = await holdfast(['list', '--all', '--home', home, '--json']);
    owner.signal('SIGCONT');
    expect(result.status).toBe(1);
    expect(JSON.parse(result.stdout.toString())).toMatchObject({
      snapshots: [{ ref }],
      unread: [{ kind: 'session', id: owner.id, code: 'CLI_SESSION_LIVE' }],
    });
  });
});

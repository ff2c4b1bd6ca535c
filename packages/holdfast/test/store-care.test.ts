import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';

import { type Clock, systemClock } from '@holdfast/base';
import { HomeError, openLocal } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { holdfast, temporaryDirectory } from './run-command.js';
import { treeRows } from './tree-rows.js';

/** What people do to look after a store, through the real command. */

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;
let home: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  fs.chmodSync(temporary.path, 0o755);
  root = join(temporary.path, 'ws');
  home = join(temporary.path, 'home');
  fs.mkdirSync(root);
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

const run = async <T>(...words: string[]): Promise<T> =>
  (await holdfast([...words, '--home', home, '--json'])).json();
const fail = async (...words: string[]) => (await holdfast([...words, '--home', home, '--json'])).error();

async function snapshot(text: string): Promise<string> {
  fs.writeFileSync(join(root, 'file.txt'), text);
  return (await run<{ ref: string }>('snapshot', root)).ref;
}

interface Report {
  readonly problems: readonly { readonly ref?: string; readonly key?: string; readonly code: string }[];
}

/** What `verify` prints, whatever it exits with. */
async function verify(...words: string[]): Promise<{ status: number | null; report: Report }> {
  const { status, stdout } = await holdfast(['verify', '--home', home, '--json', ...words]);
  return { status, report: JSON.parse(stdout.toString()) as Report };
}

/** Takes every record of a ref out of the store behind its back. */
function loseRecords(ref: string): void {
  const digits = ref.slice('v1:sha256:'.length);
  const lost = fs
    .readdirSync(join(home, 'blobs/objects'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(`+${digits}`));
  expect(lost).toHaveLength(1);
  fs.rmSync(join(home, 'blobs/objects', lost[0] as string), { recursive: true });
}

describe('a home that does not exist', () => {
  it('is refused by a program that only looks, too', async () => {
    await expect(openLocal(home, { create: false })).rejects.toSatisfy((error) => HomeError.is(error));
    expect(fs.existsSync(home)).toBe(false);
  });

  const ref = 'a'.repeat(64);
  it.each([
    ['ls', ref],
    ['cat', ref, 'a'],
    ['diff', ref, ref],
    ['materialize', ref, 'dest'],
    ['verify'],
    ['gc'],
    ['maintain'],
    ['explain', ref],
    ['export', ref],
    ['session', 'list'],
    ['session', 'log', 'some-session'],
  ])('is not made by %s', async (...words) => {
    expect(await fail(...words)).toMatchObject({ code: 'CLI_HOME', home });
    expect(fs.existsSync(home)).toBe(false);
  });
});

describe('verify of a home', () => {
  it('compares the store with what the journals need', async () => {
    const [first, second] = [await snapshot('one'), await snapshot('two')];
    expect(await verify()).toMatchObject({ status: 0, report: { problems: [] } });
    loseRecords(first);
    expect(await verify()).toMatchObject({
      status: 1,
      report: { problems: [{ ref: first, code: 'WORKSPACE_REF_NOT_FOUND' }] },
    });
    expect((await verify(second)).status).toBe(0);
  });

  it('does not take for lost what a collection was told to let go, unless it is needed all the same', async () => {
    const refs = [await snapshot('one'), await snapshot('two'), await snapshot('three')];
    expect((await run<{ deleted: { records: number } }>('gc', '--keep-last', '1')).deleted.records).toBe(2);
    expect(await verify()).toMatchObject({ status: 0, report: { problems: [] } });
    expect(await run('gc')).toMatchObject({ missing: [] });
    loseRecords(refs[2] as string);
    expect(await run('gc', '--dry-run')).toMatchObject({ missing: [refs[2]] });
    expect((await verify()).report.problems.map((problem) => problem.ref)).toEqual([refs[2]]);
    // A tree that was let go once and is the present one again.
    const again = await snapshot('one');
    expect(again).toBe(refs[0]);
    loseRecords(again);
    expect((await verify()).report.problems.map((problem) => problem.ref)).toContain(again);
  });
});

it('verify does not take for lost what a collection let go by a later look at the clock', async () => {
  for (const text of ['one', 'two', 'three']) await snapshot(text);
  // An hour passes at one look during the collection, the latest that makes it delete something: what the policy kept when
  // it was asked first is too old when it is asked again.
  let looks = 0;
  let early = Infinity;
  const now = (): number => systemClock.now() + ((looks += 1) > early ? 3_600_000 : 0);
  const clock: Clock = {
    now,
    monotonic: () => systemClock.monotonic(),
    sleep: (...call) => systemClock.sleep(...call),
    schedule: (...call) => systemClock.schedule(...call),
  };
  await using local = await openLocal(home, { clock });
  const retention = { keepWithinMs: 600_000 };
  let deleted = 0;
  for (early = 50; deleted === 0 && early >= 0; early -= 1) {
    looks = 0;
    deleted = (await local.collect({ retention, graceMs: 0 })).deleted.records;
  }
  expect(deleted).toBe(2);
  expect(await verify()).toMatchObject({ status: 0, report: { problems: [] } });
});

describe('journals that somebody removed', () => {
  it('are missed: nothing is deleted until they are given up by name', async () => {
    const kept = await snapshot('kept');
    fs.mkdirSync(join(temporary.path, 'other'));
    await run('session', 'new', join(temporary.path, 'other'));
    const [id] = fs.readdirSync(join(home, 'roots')).filter((name) => /^[0-9a-f]{64}$/.test(name));
    fs.rmSync(join(home, 'roots'), { recursive: true });
    for (const words of [['gc'], ['gc', '--dry-run'], ['gc', '--forget', 'somebody-else']]) {
      const refused = await fail(...words);
      expect(refused).toMatchObject({ code: 'WORKSPACE_COLLECT', operation: 'mark' });
      expect(refused['message']).toContain(id);
    }
    const problems = (await verify()).report.problems;
    expect(problems).toMatchObject([{ key: `roots/${id}`, code: 'JOURNAL_SESSION_NOT_FOUND' }]);
    expect((await verify(kept)).status).toBe(0);
    // A mistyped id is refused beside the right one, and gives nothing up.
    for (const wrong of ['somebody-else', (id as string).slice(0, 7), `${id}0`]) {
      const refused = await fail('gc', '--forget', id as string, '--forget', wrong);
      expect(refused).toMatchObject({ code: 'WORKSPACE_COLLECT', operation: 'forget' });
      expect(refused['message']).toContain(`"${wrong}"`);
    }
    expect(await fail('gc')).toMatchObject({ code: 'WORKSPACE_COLLECT', operation: 'mark' });
    // Only looking does not give anything up.
    await run('gc', '--forget', id as string, '--dry-run');
    expect(await fail('gc')).toMatchObject({ code: 'WORKSPACE_COLLECT' });
    await run('gc', '--forget', (id as string).slice(0, 8));
    expect((await verify()).status).toBe(0);
    // It is not gone any more: it is forgotten.
    expect(await fail('gc', '--forget', id as string)).toMatchObject({ operation: 'forget' });
    expect(await fail('verify', kept)).toMatchObject({ code: 'WORKSPACE_REF_NOT_FOUND' });
  });

  it('are missed as well when the next command has begun one anew', async () => {
    const kept = await snapshot('kept');
    const [id] = fs.readdirSync(join(home, 'roots')).filter((name) => /^[0-9a-f]{64}$/.test(name));
    fs.rmSync(join(home, 'roots'), { recursive: true });
    const again = await snapshot('again');
    for (const words of [['gc'], ['gc', '--dry-run']]) {
      const refused = await fail(...words);
      expect(refused).toMatchObject({ code: 'WORKSPACE_COLLECT', operation: 'mark' });
      expect(refused['message']).toContain(id);
    }
    expect((await verify()).report.problems).toMatchObject([{ key: `roots/${id}` }]);
    expect((await verify(kept)).status).toBe(0);
    await run('gc', '--forget', id as string);
    expect((await verify()).status).toBe(0);
    expect((await verify(again)).status).toBe(0);
    expect(await fail('verify', kept)).toMatchObject({ code: 'WORKSPACE_REF_NOT_FOUND' });
    // It is remembered as it is now.
    fs.rmSync(join(home, 'roots'), { recursive: true });
    expect((await fail('gc'))['message']).toContain(id);
  });

  it('and then came back are there again', async () => {
    const ref = await snapshot('kept');
    fs.renameSync(join(home, 'roots'), join(temporary.path, 'roots'));
    expect(await fail('gc')).toMatchObject({ code: 'WORKSPACE_COLLECT' });
    fs.rmSync(join(home, 'roots'), { recursive: true });
    fs.renameSync(join(temporary.path, 'roots'), join(home, 'roots'));
    await run('gc');
    expect((await verify(ref)).status).toBe(0);
  });
});

describe('materialize', () => {
  const beside = (): string[] =>
    fs.readdirSync(temporary.path).filter((name) => name.startsWith('.holdfast-'));

  /** Starts one that takes a while, and resolves when it has begun to build. */
  async function begin(ref: string, dest: string) {
    const command = new URL('../bin/holdfast.js', import.meta.url).pathname;
    const child = spawn(process.execPath, [command, 'materialize', ref, dest, '--home', home], {
      stdio: 'ignore',
    });
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    await new Promise<void>((resolve) => {
      const watcher = fs.watch(temporary.path, () => {
        if (beside().length === 0) return;
        watcher.close();
        child.kill('SIGSTOP');
        resolve();
      });
    });
    return { child, closed };
  }

  it('removes what a killed one built, and nothing of one that lives', async () => {
    for (let file = 0; file < 1200; file += 1) fs.writeFileSync(join(root, `f${file}`), `content ${file}`);
    const ref = await snapshot('last');
    const stopped = await begin(ref, join(temporary.path, 'first'));
    const [kept] = beside();
    await run('materialize', ref, join(temporary.path, 'second'));
    expect(beside()).toEqual([kept]);
    stopped.child.kill('SIGCONT');
    expect(await stopped.closed).toBe(0);
    expect(beside()).toEqual([]);
    expect(treeRows(join(temporary.path, 'first'))).toEqual(treeRows(root));

    const killed = await begin(ref, join(temporary.path, 'third'));
    killed.child.kill('SIGKILL');
    await killed.closed;
    expect(beside()).toHaveLength(1);
    // What others named is left alone.
    fs.mkdirSync(join(temporary.path, '.holdfast-trash-somebody-0123456789abcdef'));
    fs.mkdirSync(join(temporary.path, '.holdfast-trash-b-1-2'));
    await run('materialize', ref, join(temporary.path, 'third'));
    expect(beside().sort()).toEqual(['.holdfast-trash-b-1-2', '.holdfast-trash-somebody-0123456789abcdef']);
    expect(treeRows(join(temporary.path, 'third'))).toEqual(treeRows(root));
  });

  it('says what may not be written to', async () => {
    const ref = await snapshot('text');
    const closed = join(temporary.path, 'closed');
    fs.mkdirSync(closed, { mode: 0o555 });
    // Another user, with the store as his own.
    fs.cpSync(home, `${home}-copy`, { recursive: true });
    const uid = 65_534;
    for (const entry of ['', ...fs.readdirSync(`${home}-copy`, { recursive: true, encoding: 'utf8' })])
      fs.lchownSync(join(`${home}-copy`, entry), uid, uid);
    const words = ['materialize', ref, join(closed, 'dest'), '--home', `${home}-copy`, '--json'];
    const refused = (await holdfast(words, { uid })).error();
    expect(refused).toMatchObject({ code: 'WORKSPACE_MATERIALIZE' });
    expect(refused['message']).toContain('EACCES');
    expect(refused['message']).not.toContain('missing');
  });
});

describe('diff --text and maintain', () => {
  it('show lines, escaped, and tidy what was written', async () => {
    const first = await snapshot('one\ntwo\tcolumns\nthree\n');
    fs.writeFileSync(join(root, 'picture'), Buffer.from([0, 1]));
    fs.writeFileSync(join(root, 'file.txt'), 'one\ntwo\tcolumns \u001b[31m\nthree\n');
    const live = await holdfast(['diff', first, root, '--text', '--home', home]);
    expect(live.stdout.toString().split('\n')).toEqual([
      'M file.txt',
      '@@ -1,3 +1,3 @@',
      ' one',
      '-two\tcolumns',
      '+two\tcolumns \\x1B[31m',
      ' three',
      'A picture (not text)',
      '',
    ]);
    const second = (await run<{ ref: string }>('snapshot', root)).ref;
    const stored = await holdfast(['diff', first, second, '--text', '--home', home]);
    expect(stored.stdout.toString()).toBe(live.stdout.toString());
    const { changes } = await run<{ changes: { text?: unknown }[] }>('diff', first, second, '--text');
    expect(changes[0]?.text).toMatchObject({ kind: 'lines', hunks: [{ beforeStart: 1, afterLines: 3 }] });

    for (let step = 0; step < 7; step += 1) await snapshot(`step ${step}`);
    expect(await run('maintain')).toEqual({ roots: 1, merged: 1, rebased: 0 });
    expect(await run('maintain')).toEqual({ roots: 1, merged: 0, rebased: 0 });
    const last = await snapshot('after');
    await run('gc');
    expect((await verify('--deep')).status).toBe(0);
    expect((await run<{ records: { archives: number }[] }>('explain', last)).records[0]?.archives).toBe(3);
  });
});

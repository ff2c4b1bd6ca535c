import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';

import { EditMismatchError } from '@holdfast/agent-tools';
import type { OpenedSession } from '@holdfast/rig';
import { describe, expect, it } from 'vitest';

import { Bench, failure } from './support/bench.js';

describe('write', () => {
  it('creates a file with its directories and leaves nothing else behind', async () => {
    const bench = await new Bench().open();
    const written = await bench.run((tools) => tools.write.call({ path: 'a/b/c.txt', content: 'new' }));
    expect(written).toEqual({ path: 'a/b/c.txt', created: true, bytes: 3 });
    expect(bench.text('a/b/c.txt')).toBe('new');
    expect(readdirSync(bench.at('a/b'))).toEqual(['c.txt']);
    expect(statSync(bench.at('a/b/c.txt')).mode & 0o777).toBe(0o644);
  });

  it('refuses to change what the loop has not read', async () => {
    const bench = await new Bench().open();
    bench.write('a.txt', 'old');
    const error = await failure(bench.run((tools) => tools.write.call({ path: 'a.txt', content: 'new' })));
    expect(error).toMatchObject({ code: 'AGENT_TOOLS_STALE_FILE', path: 'a.txt', kind: 'unread' });
    expect(bench.text('a.txt')).toBe('old');
  });

  it('changes what was read completely, keeps its mode, and knows it afterwards', async () => {
    const bench = await new Bench().open();
    bench.write('run.sh', 'old', 0o755);
    await bench.run(async (tools) => {
      await tools.read.call({ path: 'run.sh' });
      await tools.write.call({ path: 'run.sh', content: 'one' });
      await tools.write.call({ path: './run.sh', content: 'two' });
      await tools.edit.call({ path: 'run.sh', oldText: 'two', newText: 'three' });
    });
    expect(bench.text('run.sh')).toBe('three');
    expect(statSync(bench.at('run.sh')).mode & 0o7777).toBe(0o755);
    expect(readdirSync(bench.root)).toEqual(['run.sh']);
  });

  it('drops set-id bits, which vouched for other bytes', async () => {
    const bench = await new Bench().open();
    bench.write('tool', 'old', 0o755);
    execFileSync('chmod', ['4755', bench.at('tool')]);
    await bench.run(async (tools) => {
      await tools.read.call({ path: 'tool' });
      await tools.write.call({ path: 'tool', content: 'new' });
    });
    expect(statSync(bench.at('tool')).mode & 0o7777).toBe(0o755);
  });

  it('does not create what appeared after it was found absent', async () => {
    const bench = await new Bench().open();
    const error = await failure(
      bench.run(async (tools) => {
        expect(await failure(tools.read.call({ path: 'a.txt' }))).toMatchObject({
          code: 'AGENT_TOOLS_MISSING',
        });
        bench.write('a.txt', 'theirs');
        await tools.write.call({ path: 'a.txt', content: 'mine' });
      }),
    );
    expect(error).toMatchObject({ kind: 'appeared' });
    expect(bench.text('a.txt')).toBe('theirs');
  });

  it('does not bring back what was removed after it was read', async () => {
    const bench = await new Bench().open();
    bench.write('a.txt', 'old');
    const error = await failure(
      bench.run(async (tools) => {
        await tools.read.call({ path: 'a.txt' });
        rmSync(bench.at('a.txt'));
        await tools.write.call({ path: 'a.txt', content: 'mine' });
      }),
    );
    expect(error).toMatchObject({ kind: 'removed' });
    expect(lstatSync(bench.at('a.txt'), { throwIfNoEntry: false })).toBeUndefined();
    const again = await bench.run((tools) => tools.write.call({ path: 'a.txt', content: 'mine' }));
    expect(again.created).toBe(true);
  });

  it('refuses more than the limit and takes back the directories it made', async () => {
    const bench = await new Bench().open({ limits: { fileBytes: 10 } });
    const error = await failure(
      bench.run((tools) => tools.write.call({ path: 'deep/er/a.txt', content: 'x'.repeat(11) })),
    );
    expect(error).toMatchObject({ code: 'AGENT_TOOLS_TOO_BIG', bytes: 11, maxBytes: 10 });
    expect(readdirSync(bench.root)).toEqual([]);
  });

  it('rejects with the reason of an abort and changes nothing', async () => {
    const bench = await new Bench().open();
    const reason = new Error('stop');
    const error = await failure(
      bench.run((tools) =>
        tools.write.call({ path: 'a/b.txt', content: 'x' }, { signal: AbortSignal.abort(reason) }),
      ),
    );
    expect(error).toBe(reason);
    expect(readdirSync(bench.root)).toEqual([]);
  });

  it('refuses input that does not fit', async () => {
    const bench = await new Bench().open();
    const bad = { path: '', contents: 'x' } as unknown as { path: string; content: string };
    const error = await failure(bench.run((tools) => tools.write.call(bad)));
    expect(error).toMatchObject({ code: 'SESSION_TOOL_CALL', kind: 'input-invalid' });
    expect(String(error)).toContain('content is missing; contents is not known');
  });
});

describe('edit', () => {
  it.each([
    ['not-found', 'three'],
    ['not-unique', 'one'],
    ['not-unique', 'aa'],
  ])('refuses text that is %s (%s)', async (kind, oldText) => {
    const bench = await new Bench().open();
    bench.write('a.txt', 'one two one aaa');
    const error = await failure(
      bench.run(async (tools) => {
        await tools.read.call({ path: 'a.txt' });
        await tools.edit.call({ path: 'a.txt', oldText, newText: 'x' });
      }),
    );
    expect(EditMismatchError.is(error)).toBe(true);
    expect(error).toMatchObject({ kind });
    expect(bench.text('a.txt')).toBe('one two one aaa');
    // The loop still knows the file: it may try again at once.
    await bench.run((tools) => tools.edit.call({ path: 'a.txt', oldText: 'two', newText: '2' }));
    expect(bench.text('a.txt')).toBe('one 2 one aaa');
  });

  it('keeps every other byte: line ends, the mark at the beginning, replacement patterns', async () => {
    const bench = await new Bench().open();
    bench.write('a.txt', '\uFEFFone\r\ntwo\r\nthree');
    const edited = await bench.run(async (tools) => {
      await tools.read.call({ path: 'a.txt' });
      return await tools.edit.call({ path: 'a.txt', oldText: 'two', newText: '$& 公\\n' });
    });
    expect(edited.line).toBe(2);
    expect(bench.text('a.txt')).toBe('\uFEFFone\r\n$& 公\\n\r\nthree');
  });

  it('says that there is nothing to edit', async () => {
    const bench = await new Bench().open();
    const error = await failure(
      bench.run((tools) => tools.edit.call({ path: 'a.txt', oldText: 'a', newText: 'b' })),
    );
    expect(error).toMatchObject({ code: 'AGENT_TOOLS_MISSING' });
  });
});

describe('freshness', () => {
  it('is per loop: what one has read says nothing about the other', async () => {
    const bench = await new Bench().open();
    bench.write('a.txt', 'old');
    await bench.run((tools) => tools.read.call({ path: 'a.txt' }), 'one');
    const error = await failure(
      bench.run((tools) => tools.write.call({ path: 'a.txt', content: 'x' }), 'two'),
    );
    expect(error).toMatchObject({ kind: 'unread' });
    await bench.run((tools) => tools.write.call({ path: 'a.txt', content: 'new' }), 'one');
    expect(bench.text('a.txt')).toBe('new');
  });

  it('ends when another loop changes the file, and the record is dropped', async () => {
    const bench = await new Bench().open();
    bench.write('a.txt', 'old');
    await bench.run((tools) => tools.read.call({ path: 'a.txt' }), 'one');
    await bench.run(async (tools) => {
      await tools.read.call({ path: 'a.txt' });
      await tools.edit.call({ path: 'a.txt', oldText: 'old', newText: 'theirs' });
    }, 'two');
    const edit = () => bench.run((tools) => tools.edit.call({ path: 'a.txt', oldText: 'old', newText: 'x' }));
    expect(await failure(edit())).toMatchObject({ kind: 'changed' });
    expect(await failure(edit())).toMatchObject({ kind: 'unread' });
    expect(bench.text('a.txt')).toBe('theirs');
  });

  it.each([
    ['that changes the file', 'printf new > a.txt'],
    ['that changes nothing', 'true'],
    ['that fails', 'exit 3'],
  ])('ends with a shell run %s', async (_, command) => {
    const bench = await new Bench().open();
    bench.write('a.txt', 'old');
    const error = await failure(
      bench.run(async (tools) => {
        await tools.read.call({ path: 'a.txt' });
        await tools.shell.call({ command });
        await tools.write.call({ path: 'a.txt', content: 'mine' });
      }),
    );
    expect(error).toMatchObject({ kind: 'unread' });
  });

  it('ends with a restore', async () => {
    const bench = await new Bench().open();
    const session = bench.session as OpenedSession;
    bench.write('a.txt', 'old');
    const ref = await session.checkpointWorkspace();
    await bench.run(async (tools) => {
      await tools.read.call({ path: 'a.txt' });
      await tools.write.call({ path: 'a.txt', content: 'new' });
    });
    await session.restoreWorkspace(ref);
    expect(bench.text('a.txt')).toBe('old');
    const error = await failure(bench.run((tools) => tools.write.call({ path: 'a.txt', content: 'x' })));
    expect(error).toMatchObject({ kind: 'unread' });
  });

  it('is not given by a read that was cut, or of a part', async () => {
    const bench = await new Bench().open({ limits: { readBytes: 8 } });
    bench.write('long.txt', 'one\ntwo\nthree\n');
    bench.write('a.txt', 'one\ntwo\n');
    await bench.run(async (tools) => {
      expect(await tools.read.call({ path: 'long.txt' })).toMatchObject({
        content: 'one\ntwo\n',
        lines: 2,
        complete: false,
        more: true,
      });
      expect(await tools.read.call({ path: 'a.txt', line: 2 })).toMatchObject({
        content: 'two\n',
        complete: false,
        more: false,
      });
      expect(await tools.read.call({ path: 'a.txt', lines: 1 })).toMatchObject({
        content: 'one\n',
        complete: false,
        more: true,
      });
      for (const path of ['long.txt', 'a.txt']) {
        expect(await failure(tools.write.call({ path, content: 'x' }))).toMatchObject({ kind: 'unread' });
      }
      expect(await tools.read.call({ path: 'a.txt', line: 1, lines: 2 })).toMatchObject({ complete: true });
      await tools.write.call({ path: 'a.txt', content: 'x' });
    });
  });

  it('holds for a file by every path that leads to it', async () => {
    const bench = await new Bench().open();
    bench.write('real/a.txt', 'old');
    symlinkSync('real', bench.at('alias'));
    symlinkSync('real/a.txt', bench.at('link'));
    await bench.run(async (tools) => {
      expect(await tools.read.call({ path: 'alias/a.txt' })).toMatchObject({ path: 'real/a.txt' });
      await tools.write.call({ path: 'link', content: 'new' });
    });
    expect(bench.text('real/a.txt')).toBe('new');
    expect(lstatSync(bench.at('link')).isSymbolicLink()).toBe(true);
  });

  it('is tested again under the permit, after a wait', async () => {
    const bench = await new Bench().open();
    bench.write('a.txt', 'old');
    await bench.run((tools) => tools.read.call({ path: 'a.txt' }), 'one');
    const command = 'touch started; while [ ! -e go ]; do sleep 0.01; done; printf theirs > a.txt';
    const shell = bench.run((tools) => tools.shell.call({ command }), 'two');
    await expect.poll(() => existsSync(bench.at('started'))).toBe(true);
    const write = bench.run(async (tools) => {
      const written = tools.write.call({ path: 'a.txt', content: 'mine' });
      bench.write('go', '');
      return await written;
    }, 'one');
    const results = await Promise.allSettled([shell, write]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect((results[1] as PromiseRejectedResult).reason).toMatchObject({ kind: 'changed' });
    expect(bench.text('a.txt')).toBe('theirs');
  });
});

it('edits disjoint files side by side, and one file in turn', async () => {
  const bench = await new Bench().open();
  const names = Array.from({ length: 20 }, (_, index) => `d${index % 4}/f${index}.txt`);
  for (const name of names) bench.write(name, 'old');
  const replaceAll = (from: string, to: string) => (tools: Parameters<Parameters<Bench['run']>[0]>[0]) =>
    Promise.all(
      names.map(async (path) => {
        await tools.read.call({ path });
        await tools.edit.call({ path, oldText: from, newText: to });
      }),
    );
  await bench.run(replaceAll('old', 'new'));
  expect(names.map((name) => bench.text(name))).toEqual(names.map(() => 'new'));
  // Two changes of one file that both know the same bytes: one is first, the other is stale.
  const outcomes = await bench.run((tools) =>
    Promise.allSettled(
      ['x', 'y'].map((newText) => tools.edit.call({ path: 'd0/f0.txt', oldText: 'new', newText })),
    ),
  );
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(readdirSync(bench.at('d0')).every((name) => !name.startsWith('.holdfast'))).toBe(true);
});

it('makes a directory once when two files need it', async () => {
  const bench = await new Bench().open();
  await bench.run((tools) =>
    Promise.all(['a', 'b', 'c'].map((name) => tools.write.call({ path: `new/dir/${name}`, content: name }))),
  );
  expect(readdirSync(bench.at('new/dir')).sort()).toEqual(['a', 'b', 'c']);
});

it('reads an empty file as complete', async () => {
  const bench = await new Bench().open();
  bench.write('d/empty', '');
  const read = await bench.run((tools) => tools.read.call({ path: 'd/empty' }));
  expect(read).toMatchObject({ content: '', lines: 0, complete: true, more: false });
});

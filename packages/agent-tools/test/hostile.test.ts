import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';

import {
  editTool,
  type ListOutput,
  listTool,
  readTool,
  WorkspacePathError,
  workspaceTools,
  writeTool,
} from '@holdfast/agent-tools';
import { Coordinator, parseCanonicalPath } from '@holdfast/coordinator';
import { createObservations, type ToolContext } from '@holdfast/session';
import { describe, expect, it, onTestFinished } from 'vitest';

import { Bench, failure, type Tools } from './support/bench.js';

/** What each tool makes of a path. */
const calls: Readonly<Record<string, (tools: Tools, path: string) => Promise<unknown>>> = {
  read: (tools, at) => tools.read.call({ path: at }),
  write: (tools, at) => tools.write.call({ path: at, content: 'x' }),
  edit: (tools, at) => tools.edit.call({ path: at, oldText: 'secret', newText: 'x' }),
  list: (tools, at) => tools.list.call({ path: at }),
  search: (tools, at) => tools.search.call({ path: at, pattern: 'secret' }),
};

describe('a path that is no place in the workspace', () => {
  const hostile: readonly (readonly [string, string])[] = [
    ['..', 'parent'],
    ['../outside/secret.txt', 'parent'],
    ['a/../../outside/secret.txt', 'parent'],
    ['inside/../inside/a.txt', 'parent'],
    ['/etc/passwd', 'absolute'],
    ['//outside', 'absolute'],
    ['\\x2e\\x2e/outside/secret.txt', 'parent'],
    ['\\x2fetc/passwd', 'absolute'],
    ['a\0b', 'nul'],
    ['a\\x00b', 'nul'],
    ['a\\b', 'encoding'],
    ['n'.repeat(256), 'too-long'],
    ['d/'.repeat(2049), 'too-long'],
    ['d/'.repeat(300), 'too-deep'],
    ['out', 'outside-root'],
    ['out/secret.txt', 'outside-root'],
    ['deep/out/secret.txt', 'outside-root'],
    ['absolute-out/secret.txt', 'outside-root'],
    ['file-out', 'outside-root'],
    ['sibling-out/x', 'outside-root'],
    ['loop', 'link-loop'],
    ['loop/a', 'link-loop'],
    ['inside/a.txt/b', 'not-a-directory'],
    ['.holdfast-scratch/intent', 'reserved'],
    ['./.holdfast-scratch', 'reserved'],
    ['to-scratch/x', 'reserved'],
  ];

  it.each(Object.entries(calls))('is refused by %s', async (_, call) => {
    const bench = await new Bench().open();
    const outside = path.join(bench.place, 'outside');
    mkdirSync(outside);
    writeFileSync(path.join(outside, 'secret.txt'), 'secret');
    mkdirSync(`${bench.root}-sibling`);
    bench.write('inside/a.txt', 'a');
    mkdirSync(bench.at('deep'));
    symlinkSync('../outside', bench.at('out'));
    symlinkSync('../../outside', bench.at('deep/out'));
    symlinkSync(outside, bench.at('absolute-out'));
    symlinkSync('inside/../../outside/secret.txt', bench.at('file-out'));
    symlinkSync(`${bench.root}-sibling`, bench.at('sibling-out'));
    symlinkSync('loop', bench.at('loop'));
    symlinkSync('.holdfast-scratch', bench.at('to-scratch'));
    const names = readdirSync(bench.root).sort();
    const found = await bench.run(async (tools) => {
      const rules: (readonly [string, unknown])[] = [];
      for (const [given] of hostile) {
        const error = await failure(call(tools, given));
        rules.push([given, WorkspacePathError.is(error) ? error.rule : error]);
      }
      return rules;
    });
    expect(found).toEqual(hostile);
    expect(readdirSync(bench.root).sort()).toEqual(names);
    expect(readdirSync(outside)).toEqual(['secret.txt']);
    expect(readFileSync(path.join(outside, 'secret.txt'), 'utf8')).toBe('secret');
  });
});

describe('something else than a file or directory', () => {
  it.each(['fifo', 'socket', 'char-device', 'directory'])(
    'a %s is refused without blocking',
    async (kind) => {
      const bench = await new Bench().open();
      const at = bench.at('node');
      if (kind === 'fifo') execFileSync('mkfifo', [at]);
      else if (kind === 'directory') mkdirSync(at);
      else if (kind === 'char-device') {
        try {
          execFileSync('mknod', [at, 'c', '1', '5'], { stdio: 'ignore' });
        } catch {
          // Only root may plant one.
          expect(process.getuid?.()).not.toBe(0);
          return;
        }
      } else {
        const server = createServer().listen(at);
        onTestFinished(() => void server.close());
        await new Promise((resolve) => server.once('listening', resolve));
      }
      for (const tool of ['read', 'write', 'edit'] as const) {
        const error = await failure(
          bench.run((tools) => (calls[tool] as (typeof calls)[string])(tools, 'node')),
        );
        expect(error).toMatchObject({ code: 'AGENT_TOOLS_UNEXPECTED_NODE', expected: 'file', found: kind });
      }
      const listed = await bench.run((tools) => tools.list.call({}));
      expect(listed.entries).toEqual([{ path: 'node', kind }]);
      expect((await bench.run((tools) => tools.search.call({ pattern: 'x' }))).matches).toEqual([]);
      expect(lstatSync(at).isFile()).toBe(false);
    },
  );

  it('a file is no directory to list', async () => {
    const bench = await new Bench().open();
    bench.write('a.txt', 'x');
    expect(await failure(bench.run((tools) => tools.list.call({ path: 'a.txt' })))).toMatchObject({
      code: 'AGENT_TOOLS_UNEXPECTED_NODE',
      expected: 'directory',
      found: 'file',
    });
  });
});

describe('names', () => {
  it.each([
    'new\nline.txt',
    'tab\tand\u0007bell',
    ' lead.txt ',
    '-rf',
    'a"b\'c',
    '公共函数.cpp',
    'é-composed',
    'é-decomposed',
    'back\\\\slash',
    'raw\\xFF.bin',
    'n'.repeat(255),
    'a//b/./c',
  ])('%j is created, listed, read and edited byte for byte', async (name) => {
    const bench = await new Bench().open();
    await bench.run(async (tools) => {
      await tools.write.call({ path: name, content: 'one' });
      const { path: canonical } = await tools.read.call({ path: name });
      const listed = await tools.list.call({ depth: 5 });
      expect(listed.entries).toContainEqual({ path: canonical, kind: 'file', size: 3 });
      await tools.edit.call({ path: canonical, oldText: 'one', newText: 'three' });
    });
    const raw = Buffer.from(
      name.replaceAll('\\\\', '\\').replaceAll('//', '/').replaceAll('/./', '/').replace('\\xFF', '\u00ff'),
      name.includes('xFF') ? 'latin1' : 'utf8',
    );
    expect(readFileSync(Buffer.concat([Buffer.from(`${bench.root}/`), raw]), 'utf8')).toBe('three');
  });

  it('shows control characters of a path only escaped in messages', async () => {
    const bench = await new Bench().open();
    const error = await failure(bench.run((tools) => tools.read.call({ path: 'a\u001b[2J\n' })));
    expect((error as Error).message).not.toMatch(/[\u0000-\u001f]/);
  });
});

describe('symlinks that stay inside', () => {
  it.each([
    ['relative', '../real'],
    ['through the parent', '../deep/../real'],
    ['absolute', '<root>/real'],
  ])('are followed: %s', async (_, target) => {
    const bench = await new Bench().open();
    bench.write('real/a.txt', 'old');
    mkdirSync(bench.at('deep'));
    symlinkSync(target.replace('<root>', bench.root), bench.at('deep/link'));
    const read = await bench.run((tools) => tools.read.call({ path: 'deep/link/a.txt' }));
    expect(read).toMatchObject({ path: 'real/a.txt', content: 'old', complete: true });
    const listed = await bench.run((tools) => tools.list.call({ path: 'deep' }));
    expect(listed.entries).toMatchObject([{ path: 'deep/link', kind: 'symlink' }]);
  });

  it('a dangling one leads to where it points', async () => {
    const bench = await new Bench().open();
    symlinkSync('missing/../there', bench.at('up'));
    symlinkSync('new/there.txt', bench.at('dangling'));
    expect(await failure(bench.run((tools) => tools.read.call({ path: 'up' })))).toMatchObject({
      code: 'AGENT_TOOLS_MISSING',
    });
    const written = await bench.run((tools) => tools.write.call({ path: 'dangling', content: 'x' }));
    expect(written.path).toBe('new/there.txt');
    expect(lstatSync(bench.at('dangling')).isSymbolicLink()).toBe(true);
  });
});

/** Tools bound without a session, on a coordinator that does what a test says at each question for health. */
function bound(root: string, health: () => void): ToolContext {
  return {
    sessionId: 'test',
    loop: 'one',
    workspace: {
      root,
      scope: parseCanonicalPath(root),
      coordinator: new Coordinator({ health }),
      observations: createObservations(),
    },
  };
}

describe('a change from outside in the middle of a write', () => {
  it('a directory that becomes a link leads nowhere else', async () => {
    const bench = new Bench();
    const outside = path.join(bench.place, 'outside');
    mkdirSync(outside);
    bench.write('d/keep', '');
    let asked = 0;
    const context = bound(bench.root, () => {
      asked += 1;
      if (asked !== 2) return;
      renameSync(bench.at('d'), bench.at('moved'));
      symlinkSync(outside, bench.at('d'));
    });
    const write = writeTool().bind(context);
    await write({ path: 'd/a.txt', content: 'x' }, {});
    expect(asked).toBe(2);
    expect(readdirSync(outside)).toEqual([]);
    expect(bench.text('moved/a.txt')).toBe('x');
  });

  it('a file that is changed after the first comparison is not overwritten', async () => {
    const bench = new Bench();
    bench.write('a.txt', 'old');
    let asked = 0;
    const context = bound(bench.root, () => {
      asked += 1;
      if (asked === 2) bench.write('a.txt', 'theirs');
    });
    await readTool().bind(context)({ path: 'a.txt' }, {});
    const edit = editTool().bind(context);
    const error = await failure(edit({ path: 'a.txt', oldText: 'old', newText: 'mine' }, {}));
    expect(error).toMatchObject({ code: 'AGENT_TOOLS_STALE_FILE', kind: 'changed' });
    expect(bench.text('a.txt')).toBe('theirs');
    expect(readdirSync(bench.root)).toEqual(['a.txt']);
  });

  it('a file that is created after the first comparison is not replaced', async () => {
    const bench = new Bench();
    let asked = 0;
    const context = bound(bench.root, () => {
      asked += 1;
      if (asked === 2) bench.write('a.txt', 'theirs');
    });
    const error = await failure(writeTool().bind(context)({ path: 'a.txt', content: 'mine' }, {}));
    expect(error).toMatchObject({ kind: 'appeared' });
    expect(bench.text('a.txt')).toBe('theirs');
    expect(readdirSync(bench.root)).toEqual(['a.txt']);
  });

  it('a lost lease keeps it from being made', async () => {
    const bench = new Bench();
    let asked = 0;
    const context = bound(bench.root, () => {
      asked += 1;
      if (asked === 2) throw new Error('lost');
    });
    const error = await failure(writeTool().bind(context)({ path: 'd/a.txt', content: 'x' }, {}));
    expect(error).toMatchObject({ code: 'COORDINATOR_UNHEALTHY' });
    expect(readdirSync(bench.root)).toEqual([]);
  });

  it('a listing from inside it does not show the file that is being written', async () => {
    const bench = new Bench();
    bench.write('a.txt', '');
    const staged: string[] = [];
    const listed: Promise<ListOutput>[] = [];
    const context: ToolContext = bound(bench.root, () => {
      staged.push(...readdirSync(bench.root).filter((name) => name.startsWith('.holdfast-tmp-')));
      if (staged.length > 0) listed.push(listTool().bind(context)({}, {}));
    });
    await writeTool().bind(context)({ path: 'b.txt', content: 'x' }, {});
    expect(staged).toHaveLength(1);
    expect((await listed[0])?.entries.map((entry) => entry.path)).not.toContain(staged[0]);
  });

  it('directories that keep moving are given up on', async () => {
    const bench = new Bench();
    mkdirSync(bench.at('one'));
    mkdirSync(bench.at('two'));
    symlinkSync('one', bench.at('d'));
    const context = bound(bench.root, () => undefined);
    const workspace = context.workspace as NonNullable<ToolContext['workspace']>;
    const acquire = workspace.coordinator.acquire.bind(workspace.coordinator);
    let turns = 0;
    workspace.coordinator.acquire = async (...given) => {
      turns += 1;
      rmSync(bench.at('d'));
      symlinkSync(turns % 2 === 1 ? 'two' : 'one', bench.at('d'));
      return await acquire(...given);
    };
    const error = await failure(writeTool().bind(context)({ path: 'd/a.txt', content: 'x' }, {}));
    expect(error).toMatchObject({ kind: 'moved' });
    expect(existsSync(bench.at('one/a.txt')) || existsSync(bench.at('two/a.txt'))).toBe(false);
  });
});

it('needs a workspace', () => {
  for (const tool of workspaceTools()) {
    expect(() => tool.bind({ sessionId: 'bare', loop: 'one', workspace: undefined })).toThrow(
      expect.objectContaining({ code: 'SESSION_WORKSPACE_NOT_CONFIGURED' }) as Error,
    );
  }
});

it('closes every directory it opens', async () => {
  const bench = await new Bench().open();
  bench.write('a/b/c/d.txt', 'x');
  symlinkSync('b/c', bench.at('a/link'));
  symlinkSync('../../outside', bench.at('a/out'));
  const open = () => readdirSync('/proc/self/fd').length;
  const everything = async (): Promise<void> => {
    await bench.run(async (tools) => {
      await tools.read.call({ path: 'a/link/d.txt' });
      await tools.write.call({ path: 'a/b/c/d.txt', content: 'x' });
      await tools.list.call({ depth: 5 });
      await failure(tools.read.call({ path: 'a/out/x' }));
      await failure(tools.read.call({ path: 'a/b/none' }));
      await failure(tools.edit.call({ path: 'a/b/c/d.txt', oldText: 'none', newText: '' }));
    });
  };
  await everything();
  const before = open();
  for (let round = 0; round < 5; round += 1) await everything();
  expect(open()).toBeLessThanOrEqual(before);
});

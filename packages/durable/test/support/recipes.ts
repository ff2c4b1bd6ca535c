import assert from 'node:assert/strict';

import {
  appendDurably,
  Dir,
  ensureDirectory,
  type FileSystem,
  publishDirectory,
  publishFile,
  removeDurably,
  removeTree,
  replaceFile,
  sweepTemporaries,
} from '@holdfast/durable';
import { type CrashScenario, readTree, type TreeText, writeTree } from '@holdfast/durable/testing';

import { text } from './disks.js';

/** A recipe of this package with its promise, run on `wrap(disk)`. */
export interface Recipe {
  readonly name: string;
  scenario(wrap?: (fileSystem: FileSystem) => FileSystem): CrashScenario<string>;
}

type Wrap = (fileSystem: FileSystem) => FileSystem;

const sweep = async (disk: FileSystem): Promise<void> => {
  using dir = Dir.openRoot(disk, '/d');
  await sweepTemporaries(dir, { isLive: () => false });
};

/** What recovery must leave: one of `allowed`, and not the first of them once the change is acknowledged. */
const oneOf = (disk: FileSystem, acked: readonly string[], before: TreeText, after: TreeText): void => {
  const tree = readTree(disk, '/d');
  if (acked.length > 0) assert.deepEqual(tree, after, 'an acknowledged change is lost');
  else if (JSON.stringify(tree) !== JSON.stringify(before))
    assert.deepEqual(tree, after, 'neither before nor after');
};

const simple = (
  name: string,
  plan: Parameters<typeof writeTree>[2],
  change: (dir: Dir) => Promise<unknown>,
  before: TreeText,
  after: TreeText,
): Recipe => ({
  name,
  scenario: (wrap: Wrap = (disk) => disk) => ({
    setup: (disk) => {
      writeTree(disk, '/', { 'd/': null });
      writeTree(disk, '/d', plan);
    },
    run: async (disk, { ack }) => {
      using dir = Dir.openRoot(wrap(disk), '/d');
      await change(dir);
      ack('done');
    },
    recover: sweep,
    check: (disk, { acked }) => {
      oneOf(disk, acked, before, after);
    },
  }),
});

const staged = { 'stage/a/b': 'deep', 'stage/c': 'shallow' };
const stagedTree = (name: string): TreeText => ({
  [name]: 'directory 700',
  [`${name}/a`]: 'directory 700',
  [`${name}/a/b`]: 'file 600 "deep"',
  [`${name}/c`]: 'file 600 "shallow"',
});

/** Directories and a file in them; recovery does the same again, unless all of it was acknowledged. */
function ensure(wrapRun: Wrap, wrapRecovery: Wrap): CrashScenario<string> {
  const make = async (fileSystem: FileSystem): Promise<void> => {
    using dir = await ensureDirectory(fileSystem, '/d/a/b');
    await sweepTemporaries(dir, { isLive: () => false });
    await publishFile(dir, 'file', text('x'));
  };
  return {
    setup: (disk) => {
      writeTree(disk, '/', { 'd/': null });
    },
    run: async (disk, { ack }) => {
      await make(wrapRun(disk));
      ack('done');
    },
    recover: async (disk, { ack, acked }) => {
      if (acked.length > 0) return;
      await make(wrapRecovery(disk));
      ack('done again');
    },
    check: (disk) => {
      assert.deepEqual(readTree(disk, '/d'), {
        a: 'directory 700',
        'a/b': 'directory 700',
        'a/b/file': 'file 600 "x"',
      });
    },
  };
}

export const recipes: readonly Recipe[] = [
  simple(
    'publishFile',
    {},
    (dir) => publishFile(dir, 'a', text('content'), { mode: 0o644 }),
    {},
    {
      a: 'file 644 "content"',
    },
  ),
  simple(
    'replaceFile',
    { a: 'old' },
    (dir) => replaceFile(dir, 'a', text('the new one')),
    {
      a: 'file 600 "old"',
    },
    { a: 'file 600 "the new one"' },
  ),
  simple(
    'replaceFile of nothing',
    {},
    (dir) => replaceFile(dir, 'a', text('new')),
    {},
    { a: 'file 600 "new"' },
  ),
  simple(
    'removeDurably',
    { a: 'old', b: 'kept' },
    (dir) => removeDurably(dir, 'a'),
    {
      a: 'file 600 "old"',
      b: 'file 600 "kept"',
    },
    { b: 'file 600 "kept"' },
  ),
  simple(
    'removeTree',
    { 'tree/a/b': 'x', 'tree/c': 'y' },
    (dir) => removeTree(dir, 'tree'),
    {
      tree: 'directory 700',
      'tree/a': 'directory 700',
      'tree/a/b': 'file 600 "x"',
      'tree/c': 'file 600 "y"',
    },
    {},
  ),
  {
    name: 'publishDirectory',
    scenario: (wrap: Wrap = (disk) => disk) => ({
      // Staging is part of the run, so that nothing staged is durable by itself.
      setup: (disk) => {
        writeTree(disk, '/', { 'd/': null });
      },
      run: async (disk, { ack }) => {
        const fileSystem = wrap(disk);
        writeTree(fileSystem, '/d', staged);
        using dir = Dir.openRoot(fileSystem, '/d');
        await publishDirectory(dir, 'stage', 'new');
        ack('done');
      },
      recover: async (disk) => {
        using dir = Dir.openRoot(disk, '/d');
        await removeTree(dir, 'stage');
        await sweep(disk);
      },
      check: (disk, { acked }) => {
        oneOf(disk, acked, {}, stagedTree('new'));
      },
    }),
  },
  {
    name: 'appendDurably',
    scenario: (wrap: Wrap = (disk) => disk) => ({
      setup: (disk) => {
        writeTree(disk, '/', { 'd/log': '' });
      },
      run: async (disk, { ack }) => {
        using dir = Dir.openRoot(wrap(disk), '/d');
        using file = dir.openFile('log', 'read-write');
        for (const record of ['<one>', '<second>', '<3>']) {
          await appendDurably(file, text(record));
          ack(record);
        }
      },
      check: (disk, { acked }) => {
        const log = readTree(disk, '/d')['log'] ?? '';
        const whole = /^file 600 "((?:<[a-z0-9]+>)*)/.exec(log)?.[1] ?? '';
        assert.ok(whole.startsWith(acked.join('')), `acknowledged ${acked.join('')}, found ${whole}`);
        assert.ok('<one><second><3>'.startsWith(whole), `found ${whole}`);
      },
    }),
  },
  {
    name: 'ensureDirectory',
    scenario: (wrap: Wrap = (disk) => disk) => ensure(wrap, (disk) => disk),
  },
  {
    name: 'publishFile by two writers',
    scenario: (wrap: Wrap = (disk) => disk) => ({
      setup: (disk) => {
        writeTree(disk, '/', { 'd/': null });
      },
      run: async (disk, { ack }) => {
        using first = Dir.openRoot(wrap(disk), '/d');
        using second = Dir.openRoot(disk, '/d');
        await Promise.all(
          [first, second].map(async (dir) => {
            await publishFile(dir, 'a', text('content'));
            ack('done');
          }),
        );
      },
      recover: sweep,
      check: (disk, { acked }) => {
        oneOf(disk, acked, {}, { a: 'file 600 "content"' });
      },
    }),
  },
];

/** An interrupted run, and one that finds its work half done and must make it whole. */
export const ensureAgain: Recipe = {
  name: 'ensureDirectory after an interrupted one',
  scenario: (wrap: Wrap = (disk) => disk) => ensure((disk) => disk, wrap),
};

/** A deletion that dies, and the sweep that ends it. */
export const sweepAgain: Recipe = {
  name: 'sweepTemporaries after an interrupted removeTree',
  scenario: (wrap: Wrap = (disk) => disk) => {
    const recipe = recipes.find(({ name }) => name === 'removeTree') as Recipe;
    return { ...recipe.scenario(), recover: (disk) => sweep(wrap(disk)) };
  },
};

/** A writer that dies after giving the name, and one that finds it taken and promises it. */
export const takenName: Recipe = {
  name: 'publishFile of a name that a dead writer gave',
  scenario: (wrap: Wrap = (disk) => disk) => ({
    setup: (disk) => {
      writeTree(disk, '/', { 'd/': null });
    },
    run: async (disk) => {
      using dir = Dir.openRoot(disk, '/d');
      await publishFile(dir, 'a', text('content'));
    },
    recover: async (disk, { ack }) => {
      using dir = Dir.openRoot(wrap(disk), '/d');
      await sweepTemporaries(dir, { isLive: () => false });
      await publishFile(dir, 'a', text('content'));
      ack('done');
    },
    check: (disk, { acked }) => {
      assert.ok(acked.includes('done'));
      oneOf(disk, acked, {}, { a: 'file 600 "content"' });
    },
  }),
};

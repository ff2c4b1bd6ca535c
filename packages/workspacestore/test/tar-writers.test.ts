import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

import { memoryBlobs } from '@holdfast/blobs';
import { ArchiveEntryError, ArchiveLimitError, type WorkspaceStore } from '@holdfast/workspacestore';
import { pack } from 'tar-stream';
import { beforeAll, describe, expect, test } from 'vitest';

import { withStore } from './support/store.js';
import { remove, temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

/**
 * What programs in use write, import accepts or refuses with a reason; and what it accepts is what GNU tar, bsdtar and
 * Python unpack. `tar-readers.test.ts` does the same with archives that are damaged.
 */

const script = fileURLToPath(new URL('./fixtures/tar-writers.py', import.meta.url));
const hasBsdtar = spawnSync('bsdtar', ['--version']).status === 0;
const isRoot = process.getuid?.() === 0;
/** Without UTF-8 bsdtar unpacks no names that are not ASCII; with it, it composes those that are decomposed. */
const env = { ...process.env, LC_ALL: 'C.UTF-8' };

/** Trees, each with something that formats write differently. */
const trees: Readonly<Record<string, (root: string) => void>> = {
  plain: (root) => {
    fs.mkdirSync(path.join(root, 'd/empty'), { recursive: true });
    fs.mkdirSync(path.join(root, 'sealed'));
    fs.writeFileSync(path.join(root, 'd/run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    fs.writeFileSync(path.join(root, 'd/none'), '');
    fs.chmodSync(path.join(root, 'd/none'), 0o666);
    fs.writeFileSync(path.join(root, 'block'), Buffer.alloc(512, 'b'));
    fs.writeFileSync(path.join(root, 'large'), Buffer.alloc(200_001, 'l'));
    fs.writeFileSync(path.join(root, 'sealed/private'), 'p', { mode: 0o400 });
    fs.symlinkSync('../../outside', path.join(root, 'link'));
    fs.symlinkSync('d', path.join(root, 'to-directory'));
    fs.chmodSync(path.join(root, 'sealed'), 0o500);
  },
  'hard links': (root) => {
    fs.mkdirSync(path.join(root, 'd'));
    fs.writeFileSync(path.join(root, 'a'), 'shared');
    fs.linkSync(path.join(root, 'a'), path.join(root, 'b'));
    fs.linkSync(path.join(root, 'a'), path.join(root, 'd/c'));
  },
  'links to links': (root) => {
    fs.symlinkSync('x', path.join(root, 'a'));
    fs.linkSync(path.join(root, 'a'), path.join(root, 'b'));
  },
  'long names': (root) => {
    const deep = path.join(root, 'directory-'.repeat(12), 'another-'.repeat(14), 'third-'.repeat(20));
    fs.mkdirSync(deep, { recursive: true });
    fs.writeFileSync(path.join(deep, 'f'.repeat(200)), 'deep');
    fs.writeFileSync(path.join(root, 'n'.repeat(99)), '99');
    fs.writeFileSync(path.join(root, 'n'.repeat(100)), '100');
    fs.writeFileSync(path.join(root, 'n'.repeat(101)), '101');
    fs.mkdirSync(path.join(root, 'm'.repeat(99)));
    fs.mkdirSync(path.join(root, 'm'.repeat(100)));
    for (const length of [99, 100, 101, 300])
      fs.symlinkSync('t'.repeat(length), path.join(root, `link-${length}`));
    fs.linkSync(path.join(deep, 'f'.repeat(200)), path.join(root, 'zz-hard'));
  },
  'split names': (root) => {
    // What ustar can hold in two fields, up to the last byte of each.
    const parent = path.join(root, 'p'.repeat(77), 'q'.repeat(77));
    fs.mkdirSync(parent, { recursive: true });
    for (const length of [1, 99, 100])
      fs.writeFileSync(path.join(parent, 's'.repeat(length)), String(length));
  },
  'names in other scripts': (root) => {
    for (const name of ['公.txt', 'é', ' lead', 'trail ', '-rf', '"q"', '...', '*', '\u202egnp'])
      fs.writeFileSync(path.join(root, name), name);
    fs.symlinkSync('公/é', path.join(root, 'to-公'));
  },
  'decomposed names': (root) => {
    fs.writeFileSync(path.join(root, 'e\u0301'), 'e');
    fs.symlinkSync('e\u0301', path.join(root, 'link'));
  },
  'names with control characters': (root) => {
    fs.writeFileSync(path.join(root, 'new\nline'), 'x');
  },
  'names with backslashes': (root) => {
    fs.writeFileSync(path.join(root, 'back\\slash'), 'x');
  },
  'names that are no text': (root) => {
    fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/bad-`), Buffer.from([0xff, 0xfe])]), 'raw');
  },
  'targets that are no text': (root) => {
    fs.symlinkSync(Buffer.from([0x74, 0xff]), path.join(root, 'link'));
  },
  'special bits': (root) => {
    for (const [name, mode] of [
      ['setuid', 0o4755],
      ['setgid', 0o2755],
      ['sticky', 0o1644],
    ] as const) {
      fs.writeFileSync(path.join(root, name), name);
      fs.chmodSync(path.join(root, name), mode);
    }
    fs.mkdirSync(path.join(root, 'd'));
    fs.chmodSync(path.join(root, 'd'), 0o3777);
  },
  times: (root) => {
    for (const [name, time] of [
      ['epoch', 0],
      ['before', -86_400],
      ['fraction', 1_700_000_000.123456],
      ['far', 2 ** 33 + 5],
    ] as const) {
      fs.writeFileSync(path.join(root, name), name);
      fs.utimesSync(path.join(root, name), time, time);
    }
  },
  owners: (root) => {
    fs.writeFileSync(path.join(root, 'large-id'), 'x');
    if (isRoot) fs.chownSync(path.join(root, 'large-id'), 3_000_000, 4_000_000);
  },
  holes: (root) => {
    fs.writeFileSync(path.join(root, 'sparse'), 'head');
    fs.truncateSync(path.join(root, 'sparse'), 3_000_000);
    fs.appendFileSync(path.join(root, 'sparse'), 'tail');
  },
  'a pipe': (root) => {
    fs.writeFileSync(path.join(root, 'a'), 'a');
    spawnSync('mkfifo', [path.join(root, 'pipe')]);
  },
};

interface Writer {
  readonly name: string;
  /** Writes what is in `root`; `false` when it says that it could not write everything. */
  write(root: string, archive: string): boolean | Promise<boolean>;
}

/** What a format cannot hold is left out by these, which then fail: the rest is an archive all the same. */
function program(name: string, command: string, ...args: readonly string[]): Writer {
  return {
    name,
    write: (root, archive) => {
      const { status } = spawnSync(command, [...args, '-cf', archive, '-C', root, '.'], { env });
      // bsdtar does not say so in its exit code.
      return status === 0 && command !== 'bsdtar';
    },
  };
}

const gnu = (format: string, ...more: readonly string[]): Writer =>
  program(['GNU tar', format, ...more].join(' '), 'tar', `--format=${format}`, '--sort=name', ...more);
const bsd = (format: string): Writer => program(`bsdtar ${format}`, 'bsdtar', `--format=${format}`);
const python = (format: string): Writer => ({
  name: `Python ${format}`,
  write: (root, archive) => {
    const { stdout } = spawnSync('python3', [script, 'write', format, root, archive], { env });
    return stdout.toString().trim() === '{}';
  },
});

/** Writes text, and nothing for what it has no type for. */
const tarStream: Writer = {
  name: 'tar-stream',
  write: async (root, archive) => {
    const made = pack();
    let everything = true;
    for (const entry of fs.readdirSync(root, { recursive: true, withFileTypes: true })) {
      const full = path.join(entry.parentPath, entry.name);
      const name = path.relative(root, full);
      if (!fs.lstatSync(full, { throwIfNoEntry: false })) everything = false;
      else {
        const { mode } = fs.lstatSync(full);
        if (entry.isDirectory()) made.entry({ name, type: 'directory', mode });
        else if (entry.isFile()) made.entry({ name, mode }, fs.readFileSync(full));
        else if (entry.isSymbolicLink()) {
          const linkname = fs.readlinkSync(full);
          everything &&= Buffer.from(linkname).equals(fs.readlinkSync(full, 'buffer'));
          made.entry({ name, type: 'symlink', linkname });
        } else everything = false;
      }
    }
    made.finalize();
    const parts: Uint8Array[] = [];
    for await (const part of made as AsyncIterable<Uint8Array>) parts.push(part);
    fs.writeFileSync(archive, Buffer.concat(parts));
    return everything;
  },
};

const writers: readonly Writer[] = [
  ...['v7', 'oldgnu', 'gnu', 'ustar', 'pax'].map((format) => gnu(format)),
  gnu('gnu', '--sparse'),
  gnu('pax', '--sparse'),
  gnu('gnu', '--label=a label'),
  gnu('gnu', '--listed-incremental=/dev/null'),
  ...(hasBsdtar ? ['v7', 'ustar', 'pax', 'gnutar'].map(bsd) : []),
  ...['ustar', 'gnu', 'pax'].map(python),
  tarStream,
];

/** Refused whatever the tree is: a volume's label, lists of directories. */
const alwaysRefused = /--label|--listed-incremental/;

/** What must come of a tree, for all writers but those that are named. Of bsdtar, versions of which differ, only that it is typed. */
const expected: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>?]>> = {
  plain: ['accepted'],
  'hard links': ['accepted'],
  // Readers make a link to the link, or to what it leads to. Python and tar-stream write two links.
  'links to links': [
    'link-forbidden',
    {
      'Python ustar': 'accepted',
      'Python gnu': 'accepted',
      'Python pax': 'accepted',
      'tar-stream': 'accepted',
    },
  ],
  'long names': ['accepted', { 'Python ustar': 'truncated' }],
  'split names': ['accepted'],
  'names in other scripts': ['accepted'],
  'decomposed names': ['accepted'],
  'names with control characters': ['accepted'],
  'names with backslashes': ['name-invalid'],
  'names that are no text': ['name-not-utf8', { 'tar-stream': 'accepted' }],
  'targets that are no text': ['accepted', { 'Python pax': 'name-not-utf8' }],
  'special bits': ['accepted'],
  times: ['accepted', { 'Python ustar': 'truncated' }],
  owners: ['accepted', isRoot ? { 'Python ustar': 'truncated' } : {}],
  holes: [
    'accepted',
    { 'GNU tar gnu --sparse': 'type-unsupported', 'GNU tar pax --sparse': 'type-unsupported' },
  ],
  'a pipe': ['type-unsupported', { 'GNU tar v7': 'accepted', 'tar-stream': 'accepted' }],
};

async function* stream(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

/** Imports an archive and builds what it says at `dest`; or the reason of the refusal. */
async function imported(store: WorkspaceStore, archive: string, dest: string): Promise<string> {
  try {
    const { ref } = await store.importTar(stream(fs.readFileSync(archive)));
    await store.materialize(ref, dest, { sync: false });
    return 'accepted';
  } catch (error) {
    if (ArchiveEntryError.is(error)) return error.reason;
    if (ArchiveLimitError.is(error)) return `limit ${error.limit}`;
    throw error;
  }
}

/** What the programs unpack, as text; what one says when it fails or warns is part of it. */
function unpacked(archives: readonly string[]): Map<string, Map<string, string[]>> {
  const found = new Map<string, Map<string, string[]>>();
  const dest = (archive: string, reader: string): string => `${archive}-${reader}`;
  for (const archive of archives) {
    for (const [reader, ...more] of [['tar', '--warning=no-timestamp'], ...(hasBsdtar ? [['bsdtar']] : [])]) {
      const directory = dest(archive, reader as string);
      fs.mkdirSync(directory);
      const { status, stderr } = spawnSync(reader as string, [...more, '-xpf', archive, '-C', directory], {
        env,
        encoding: 'utf8',
      });
      expect([status, stderr], `${archive}, ${reader}`).toEqual([0, '']);
    }
  }
  const pairs = archives.flatMap((archive) => [archive, dest(archive, 'python')]);
  const { stdout, stderr } = spawnSync('python3', [script, 'unpack', ...pairs], { env, encoding: 'utf8' });
  expect([stdout.trim(), stderr]).toEqual(['{}', '']);
  for (const archive of archives) {
    const readers = ['tar', ...(hasBsdtar ? ['bsdtar'] : []), 'python'];
    found.set(archive, new Map(readers.map((reader) => [reader, walk(dest(archive, reader))])));
  }
  return found;
}

/** Names of a row as text, in the form that bsdtar gives them. */
function composeRow(row: string): string {
  return Buffer.from(row, 'latin1').toString().normalize('NFC').replaceAll('65cc81', 'c3a9');
}

beforeAll(() => {
  if (!hasBsdtar) console.log('left out: bsdtar is not installed (Debian: libarchive-tools)');
});

describe('what programs write', () => {
  test.each(Object.entries(trees))(
    '%s: import sees what they see, or says why not',
    async (tree, build) => {
      const top = temporaryDirectory();
      const root = path.join(top, 'root');
      fs.mkdirSync(root);
      build(root);
      const [usual, exceptions = {}] = expected[tree] as (typeof expected)[string];
      const accepted = new Map<string, { readonly rows: string[]; readonly whole: boolean }>();
      for (const [number, writer] of writers.entries()) {
        const archive = path.join(top, `${number}.tar`);
        const wroteAll = await writer.write(root, archive);
        const ours = path.join(top, 'ours');
        const outcome = await withStore(memoryBlobs(), {}, (store) => imported(store, archive, ours));
        const wanted = alwaysRefused.test(writer.name)
          ? 'type-unsupported'
          : (exceptions[writer.name] ?? usual);
        if (!writer.name.startsWith('bsdtar')) expect(outcome, writer.name).toBe(wanted);
        if (outcome !== 'accepted') continue;
        accepted.set(archive, { rows: walk(ours), whole: wroteAll });
        remove(ours);
      }
      for (const [archive, seen] of unpacked([...accepted.keys()])) {
        const { rows, whole } = accepted.get(archive) as { rows: string[]; whole: boolean };
        const writer = writers[Number(path.basename(archive, '.tar'))]?.name;
        for (const [reader, theirs] of seen) {
          const composed = reader === 'bsdtar' && tree === 'decomposed names';
          const wanted = composed ? rows.map(composeRow).sort() : rows;
          expect(
            composed ? theirs.map(composeRow).sort() : theirs,
            `written by ${writer}, read by ${reader}`,
          ).toEqual(wanted);
        }
        if (whole && !/pipe|no text/.test(tree)) expect(rows, `written by ${writer}`).toEqual(walk(root));
      }
      remove(top);
    },
    300_000,
  );

  test('a plain tree is accepted from bsdtar in every format but its v7, whose directories are files', async () => {
    const top = temporaryDirectory();
    const root = path.join(top, 'root');
    fs.mkdirSync(root);
    (trees['plain'] as (root: string) => void)(root);
    const outcomes: Record<string, string> = {};
    for (const writer of writers.filter(({ name }) => name.startsWith('bsdtar'))) {
      const archive = path.join(top, 'x.tar');
      await writer.write(root, archive);
      outcomes[writer.name] = await withStore(memoryBlobs(), async (store) => {
        const outcome = await imported(store, archive, path.join(top, 'ours'));
        remove(path.join(top, 'ours'));
        return outcome;
      });
      fs.rmSync(archive);
    }
    const all = {
      'bsdtar v7': 'name-invalid',
      'bsdtar ustar': 'accepted',
      'bsdtar pax': 'accepted',
      'bsdtar gnutar': 'accepted',
    };
    expect(outcomes).toEqual(hasBsdtar ? all : {});
  });
});

describe('what programs make of archives that are there', () => {
  test.each<readonly [string, string, (at: (name: string) => string) => void]>([
    [
      'a file that was appended again',
      'collision',
      (at) => {
        tarOf(at, '-cf', 'x.tar', 'a');
        tarOf(at, '-rf', 'x.tar', 'a');
      },
    ],
    [
      'two archives that were joined by the program',
      'accepted',
      (at) => {
        tarOf(at, '-cf', 'x.tar', 'a');
        tarOf(at, '-cf', 'y.tar', 'b');
        spawnSync('tar', ['-Af', at('x.tar'), at('y.tar')], { env });
      },
    ],
    [
      'two archives, one behind the other',
      'malformed',
      (at) => {
        tarOf(at, '-cf', 'x.tar', 'a');
        tarOf(at, '-cf', 'y.tar', 'b');
        fs.appendFileSync(at('x.tar'), fs.readFileSync(at('y.tar')));
      },
    ],
    [
      'absolute names',
      'name-invalid',
      (at) => {
        tarOf(at, '-P', '-cf', 'x.tar', at('root/a'));
      },
    ],
    [
      'names that lead out',
      'name-invalid',
      (at) => {
        tarOf(at, '-P', '-cf', 'x.tar', '../root/a');
      },
    ],
  ])('%s: %s', async (_, wanted, make) => {
    const top = temporaryDirectory();
    const at = (name: string): string => path.join(top, name);
    fs.mkdirSync(at('root'));
    for (const name of ['a', 'b']) fs.writeFileSync(at(`root/${name}`), name);
    make(at);
    const outcome = await withStore(memoryBlobs(), {}, (store) => imported(store, at('x.tar'), at('ours')));
    expect(outcome).toBe(wanted);
    if (outcome !== 'accepted') return;
    for (const [reader, theirs] of unpacked([at('x.tar')]).get(at('x.tar')) ?? []) {
      expect(theirs, reader).toEqual(walk(at('ours')));
    }
  });
});

function tarOf(at: (name: string) => string, ...args: readonly string[]): void {
  const rest = args.map((argument) => (argument.endsWith('.tar') ? at(argument) : argument));
  spawnSync('tar', [...rest.slice(0, -1), '-C', at('root'), rest.at(-1) as string], { env });
}

import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { systemClock } from '@holdfast/base';
import { memoryBlobs } from '@holdfast/blobs';
import { nodeFileSystem } from '@holdfast/durable';
import { canonicalOrder, generateTree, writeTree } from '@holdfast/workspacestore/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type FileSystemType, fileSystems, type Mounted, mountFresh } from './support/mounts.js';
import { withStore } from './support/store.js';
import { remove, temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

/** The same trees on every kind of disk that can be had here, and by a user whom modes keep out. */

const run = promisify(execFile);
const script = fileURLToPath(new URL('./fixtures/round-trip.mjs', import.meta.url));
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const seed = Number(process.env['HOLDFAST_SEED'] ?? 1);

const whole = {
  omitted: [],
  sameKey: true,
  sameRows: true,
  sameRef: true,
  unchanged: [
    [true, 0],
    [true, 0],
  ],
  opened: [],
  changed: [true, 'added'],
  problems: [],
  collected: true,
  problemsAfter: [],
  removed: true,
  left: ['blobs', 'cache', 'root'],
};

/** Makes a directory for the fixture; tests mostly run as root, for whom modes mean nothing. */
function newPlace(below: string, user: 'root' | 'nobody'): string {
  const place = fs.mkdtempSync(path.join(below, 'place-'));
  if (isRoot && user === 'nobody') {
    fs.chmodSync(below, 0o711);
    fs.chownSync(place, nobody, nobody);
  }
  return place;
}

async function roundTrip(place: string, user: 'root' | 'nobody', ...more: readonly string[]) {
  const identity = isRoot && user === 'nobody' ? { uid: nobody, gid: nobody } : {};
  const { stdout } = await run(process.execPath, [script, place, String(seed), ...more], identity);
  const { entries, ...found } = JSON.parse(stdout) as { entries: number };
  expect(entries).toBeGreaterThan(100);
  return found;
}

/** Loop devices keep their image: it is on the disk of the tests, below a directory that others may pass. */
async function mounted(type: FileSystemType, below?: (lower: string) => void): Promise<Mounted | string> {
  const directory = fs.mkdtempSync(path.join(fs.realpathSync(tmpdir()), `workspacestore-${type}-`));
  fs.chmodSync(directory, 0o755);
  const disk = await mountFresh(directory, type, below);
  if (typeof disk === 'string') {
    fs.rmSync(directory, { recursive: true });
    console.log(`left out: ${disk}`);
    return disk;
  }
  return {
    path: disk.path,
    remove: async () => {
      await disk.remove();
      fs.rmSync(directory, { recursive: true });
    },
  };
}

describe.each(fileSystems)('on %s', (type) => {
  let disk: Mounted | string;
  beforeAll(async () => {
    disk = await mounted(type);
  });
  afterAll(async () => {
    if (typeof disk !== 'string') await disk.remove();
  });

  test.each(['root', 'nobody'] as const)(
    `a generated tree goes over and back, and is not read again: as %s, seed ${seed}`,
    async (user) => {
      if (typeof disk === 'string') {
        expect(disk).toMatch(/^(mounting needs|no )/);
        return;
      }
      expect(await roundTrip(newPlace(disk.path, user), user)).toEqual(whole);
    },
  );
});

describe('layers of an overlay', () => {
  test('are one tree: what is below, changed, deleted, covered and copied up by a mode', async () => {
    const nodes = canonicalOrder(generateTree(seed + 1, { nodes: 100 }));
    const disk = await mounted('overlay', (lower) => {
      fs.mkdirSync(path.join(lower, 'root/d/e'), { recursive: true });
      fs.mkdirSync(path.join(lower, 'root/generated'));
      writeTree(nodeFileSystem(), path.join(lower, 'root/generated'), nodes);
      for (const name of ['kept', 'changed', 'deleted', 'covered', 'mode', 'd/e/deep'])
        fs.writeFileSync(path.join(lower, 'root', name), `below: ${name}`, { mode: 0o644 });
    });
    if (typeof disk === 'string') {
      expect(disk).toMatch(/^(mounting needs|no )/);
      return;
    }
    try {
      const root = path.join(disk.path, 'root');
      // Rows learned a moment ago count as settled.
      const clock = { ...systemClock, now: () => Date.now() + 10_000 };
      await withStore(memoryBlobs(), { clock }, async (store) => {
        const first = await store.snapshot(root);
        expect((await store.snapshot(root)).stats.filesRead).toBe(0);
        fs.writeFileSync(path.join(root, 'changed'), 'above: changed');
        fs.rmSync(path.join(root, 'deleted'));
        fs.rmSync(path.join(root, 'covered'));
        fs.mkdirSync(path.join(root, 'covered'));
        fs.chmodSync(path.join(root, 'mode'), 0o600);
        fs.chmodSync(path.join(root, 'd/e'), 0o700);
        const second = await store.snapshot(root, { base: first.ref });
        const { changes } = await store.diff(first.ref, second.ref);
        expect(changes.map(({ change, path: name }) => `${change} ${name}`).sort()).toEqual([
          'mode d/e',
          'mode mode',
          'modified changed',
          'removed deleted',
          'type covered',
        ]);
        expect((await store.snapshot(root, { base: second.ref })).stats.filesRead).toBe(0);
        const copy = path.join(disk.path, 'copy');
        await store.materialize(second.ref, copy);
        expect(walk(copy)).toEqual(walk(root));
        expect((await store.snapshot(copy)).ref).toBe(second.ref);
        await store.materialize(first.ref, `${copy}-first`);
        expect(walk(`${copy}-first`).filter((line) => line.startsWith('deleted '))).toHaveLength(1);
      });
    } finally {
      await disk.remove();
    }
  });
});

describe('a user without privileges', () => {
  test('keeps a generated tree like anybody', async () => {
    expect(await roundTrip(newPlace(temporaryDirectory(), 'nobody'), 'nobody')).toEqual(whole);
  });

  test('is told what may not be read, or has it left out by name', async () => {
    const place = newPlace(temporaryDirectory(), 'nobody');
    const { sameRows: _rows, sameRef: _ref, ...rest } = whole;
    expect(await roundTrip(place, 'nobody', 'locked')).toEqual({
      ...rest,
      refusal: 'WORKSPACE_UNREADABLE',
      omitted: [
        { path: 'closed', reason: 'unreadable' },
        { path: 'shut', reason: 'unreadable' },
      ],
      // Asked for each time, since nobody tells when it is allowed again.
      opened: ['shut', 'shut'],
      changed: [true, 'added', 'shut'],
    });
    remove(place);
  });

  test.runIf(isRoot)('captures what belongs to somebody else, and its copy is the same tree', async () => {
    const place = newPlace(temporaryDirectory(), 'nobody');
    fs.mkdirSync(path.join(place, 'root'));
    writeTree(nodeFileSystem(), path.join(place, 'root'), [
      ...canonicalOrder(generateTree(seed, { nodes: 140 })).map((node) => ({
        ...node,
        mode: node.kind === 'symlink' ? 0 : node.mode | 0o444 | (node.kind === 'directory' ? 0o111 : 0),
      })),
    ]);
    fs.chmodSync(path.join(place, 'root'), 0o777);
    expect(await roundTrip(place, 'nobody')).toEqual(whole);
  });
});

import * as fs from 'node:fs';
import * as path from 'node:path';

import { memoryBlobs } from '@holdfast/blobs';
import { type FileSystem, nodeFileSystem } from '@holdfast/durable';
import { type FileSystemCall, ForwardingFileSystem } from '@holdfast/durable/testing';
import { canonicalOrder, generateTree, writeTree } from '@holdfast/workspacestore/testing';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { withStore } from './support/store.js';
import { remove, temporaryDirectory } from './support/temporary.js';
import { describeNodes, walk } from './support/walk.js';

/** Trees that are generated; a campaign asks for more. */
const generated = Number(process.env['HOLDFAST_GENERATED_TREES'] ?? 30);
const seeded =
  process.env['HOLDFAST_SEED'] === undefined ? {} : { seed: Number(process.env['HOLDFAST_SEED']) };

const top = temporaryDirectory();
let made = 0;

function freshRoot(): string {
  made += 1;
  const root = path.join(top, `root-${made}`);
  fs.mkdirSync(root);
  return root;
}

/** Captures a generated tree, builds it again and captures that; on `fileSystem` instead of the disk for a mistake. */
async function roundTrip(seed: number, fileSystem?: FileSystem): Promise<void> {
  const nodes = canonicalOrder(generateTree(seed));
  const root = freshRoot();
  writeTree(nodeFileSystem(), root, nodes);
  expect(walk(root)).toEqual(describeNodes(nodes));
  await withStore(memoryBlobs(), { fileSystem }, async (store) => {
    const { ref, stats } = await store.snapshot(root);
    expect(stats.entries).toBe(nodes.length);
    const copy = `${root}-copy`;
    await store.materialize(ref, copy, { sync: seed % 4 === 0 });
    expect(walk(copy)).toEqual(describeNodes(nodes));
    expect((await store.snapshot(copy)).ref).toBe(ref);
    // A destination that is equal already is a success that writes nothing.
    expect((await store.materialize(ref, copy)).stats.bytesWritten).toBe(0);
    remove(copy);
  });
  remove(root);
}

/** A disk on which some calls do something else. */
class MistakenFileSystem extends ForwardingFileSystem {
  readonly #instead: (call: FileSystemCall) => boolean;

  /** @param skipped Calls that do nothing and say that they did. */
  constructor(skipped: (call: FileSystemCall) => boolean) {
    super(nodeFileSystem());
    this.#instead = skipped;
  }

  protected around<T>(call: FileSystemCall, run: () => T): T {
    return this.#instead(call) ? (undefined as T) : run();
  }
}

/** A disk that names what it makes in another form of Unicode. */
class NormalizingFileSystem extends MistakenFileSystem {
  override createFile(
    ...[dir, name, mode]: Parameters<FileSystem['createFile']>
  ): ReturnType<FileSystem['createFile']> {
    const text = Buffer.from(name).toString('utf8');
    return super.createFile(dir, Buffer.from(text.normalize('NFD')), mode);
  }
}

describe('a planted mistake', () => {
  const mistakes: Readonly<Record<string, () => FileSystem>> = {
    'modes are not set': () => new MistakenFileSystem(({ operation }) => operation.startsWith('chmod')),
    'a file is made with one of its writes left out': () => {
      let writes = 0;
      return new MistakenFileSystem(({ operation }) => operation === 'write' && (writes += 1) % 5 === 0);
    },
    'names are written in another form of Unicode': () => new NormalizingFileSystem(() => false),
  };

  test('is not found where there is none', async () => {
    for (let seed = 1; seed <= 5; seed += 1) await roundTrip(seed, new MistakenFileSystem(() => false));
  });

  test.each(Object.keys(mistakes))('is found by generated trees: %s', async (name) => {
    const found: string[] = [];
    for (let seed = 1; seed <= 40 && found.length === 0; seed += 1)
      await roundTrip(seed, mistakes[name]?.()).catch((error: unknown) => found.push(String(error)));
    expect(found).toHaveLength(1);
  });
});

describe('snapshot, materialize, snapshot', () => {
  test(
    'keeps bytes, names and modes of generated trees, and the ref',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 }), async (seed) => await roundTrip(seed)),
        {
          numRuns: generated,
          ...seeded,
        },
      );
      countForCampaign('generated trees', generated);
    },
    60_000 + generated * 3_000,
  );

  test('cuts files of several MiB and stores equal content once', async () => {
    const root = freshRoot();
    writeTree(
      nodeFileSystem(),
      root,
      canonicalOrder(generateTree(7, { nodes: 25, largestFile: 9 * 2 ** 20 })),
    );
    const big = Buffer.alloc(11 * 2 ** 20);
    for (let i = 0; i < big.length; i += 4) big.writeUInt32LE(Math.imul(i, 2654435761) >>> 0, i);
    fs.writeFileSync(path.join(root, 'big-1'), big);
    fs.writeFileSync(path.join(root, 'big-2'), big);
    await withStore(memoryBlobs(), async (store) => {
      const first = await store.snapshot(root);
      const copy = `${root}-copy`;
      await store.materialize(first.ref, copy, { sync: false });
      expect(walk(copy)).toEqual(walk(root));
      const once = first.stats.bytesStored;
      expect(once).toBeLessThan(2 * big.length);

      // An insertion moves the cuts with the content: the rest is stored already.
      fs.writeFileSync(path.join(root, 'big-1'), Buffer.concat([Buffer.from('inserted'), big]));
      const second = await store.snapshot(root, { base: first.ref });
      expect(second.stats.bytesStored).toBeLessThan(5 * 2 ** 20);
      const parts: Uint8Array[] = [];
      for await (const part of await store.read(second.ref, 'big-1')) parts.push(part);
      expect(Buffer.concat(parts).equals(fs.readFileSync(path.join(root, 'big-1')))).toBe(true);
    });
  });

  test('builds a part, with the directories above it', async () => {
    const root = freshRoot();
    fs.mkdirSync(path.join(root, 'a/b'), { recursive: true });
    fs.writeFileSync(path.join(root, 'a/b/x'), 'x');
    fs.writeFileSync(path.join(root, 'a/y'), 'y');
    fs.writeFileSync(path.join(root, 'z'), 'z');
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      const dest = `${root}-part`;
      const { stats } = await store.materialize(ref, dest, { paths: ['a/b', 'z'] });
      expect(fs.readdirSync(dest)).toEqual(['a', 'z']);
      expect(fs.readdirSync(path.join(dest, 'a'))).toEqual(['b']);
      expect(stats.files).toBe(2);
    });
  });

  test('fills a missing and an empty destination, whose mode is the one of the snapshot', async () => {
    const root = freshRoot();
    fs.writeFileSync(path.join(root, 'a'), 'a');
    fs.chmodSync(root, 0o750);
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      fs.mkdirSync(`${root}-empty`);
      for (const dest of [`${root}-missing`, `${root}-empty`]) {
        await store.materialize(ref, dest);
        expect(fs.statSync(dest).mode & 0o777).toBe(0o750);
        expect(fs.readdirSync(dest)).toEqual(['a']);
      }
      expect(fs.readdirSync(top).filter((name) => name.startsWith('.holdfast'))).toEqual([]);
    });
  });
});

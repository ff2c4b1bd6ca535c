import * as fs from 'node:fs';
import * as path from 'node:path';

import { systemClock } from '@holdfast/base';
import { memoryBlobs } from '@holdfast/blobs';
import { nodeFileSystem } from '@holdfast/durable';
import {
  ArchiveLimitError,
  type ComparedTrees,
  RefNotFoundError,
  type TreeEntry,
} from '@holdfast/workspacestore';
import { canonicalOrder, generateTree, writeTree } from '@holdfast/workspacestore/testing';
import { describe, expect, test } from 'vitest';

import { withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

const firstSeed = Number(process.env['HOLDFAST_SEED'] ?? 1);
const clock = { ...systemClock, now: () => Date.now() + 10_000 };
const text = ({ path: bytes }: TreeEntry) => Buffer.from(bytes).toString('latin1');
const parent = (name: string) => name.slice(0, Math.max(0, name.lastIndexOf('/')));

/** Everything that the lists leave out is below directories that are equal in both, and counted. */
function judge(
  compared: ComparedTrees,
  live: readonly TreeEntry[],
  target: readonly TreeEntry[],
  seed: number,
) {
  const listed = new Set(compared.listed.map((bytes) => Buffer.from(bytes).toString('latin1')));
  for (const [got, whole] of [
    [compared.live.entries, live],
    [compared.target.entries, target],
  ] as const) {
    expect(got.map(text), `seed ${seed}`).toEqual(whole.map(text).filter((name) => listed.has(parent(name))));
    expect(got.length + compared.unlisted, `seed ${seed}`).toBe(whole.length);
  }
  const rest = (entries: readonly TreeEntry[]) =>
    entries
      .filter((entry) => !listed.has(parent(text(entry))))
      .map(({ path: bytes, kind, mode, size, content, target: link }) => ({
        bytes: Buffer.from(bytes).toString('latin1'),
        kind,
        mode,
        size,
        content,
        // A Buffer or another view of the same bytes.
        link: link === undefined ? undefined : text({ path: link } as TreeEntry),
      }));
  expect(rest(live), `seed ${seed}`).toEqual(rest(target));
}

describe('a live tree beside a snapshot', () => {
  test('lists both sides of directories that differ, counts the rest, and equals the whole trees there', async () => {
    for (let seed = firstSeed; seed < firstSeed + 25; seed += 1) {
      const root = path.join(temporaryDirectory(), 'root');
      fs.mkdirSync(root);
      writeTree(nodeFileSystem(), root, canonicalOrder(generateTree(seed, { nodes: 60 })));
      await withStore(memoryBlobs(), { clock }, async (store) => {
        const { ref } = await store.snapshot(root);
        const equal = await store.compare(root, ref);
        expect([equal.live.entries, equal.target.entries, equal.listed], `seed ${seed}`).toEqual([
          [],
          [],
          [],
        ]);
        const top = fs.readdirSync(root, { withFileTypes: true, encoding: 'buffer' });
        const directory = top.find((entry) => entry.isDirectory());
        const inside =
          directory === undefined
            ? Buffer.from(root)
            : Buffer.concat([Buffer.from(`${root}/`), directory.name]);
        fs.chmodSync(inside, 0o755);
        fs.writeFileSync(Buffer.concat([inside, Buffer.from('/added')]), String(seed));
        fs.mkdirSync(path.join(root, 'new/deep'), { recursive: true });
        const last = top.at(-1);
        if (last?.isFile() === true) fs.rmSync(Buffer.concat([Buffer.from(`${root}/`), last.name]));
        const compared = await store.compare(root, ref);
        const tree = await store.openTree(ref);
        const live = await store.scan(root, { target: tree });
        expect([compared.live.treeKey, compared.target.treeKey]).toEqual([live.treeKey, tree.treeKey]);
        judge(compared, live.entries, tree.entries, seed);
        const part = await store.openTree(ref, { directories: compared.listed });
        expect(part.entries, `seed ${seed}`).toEqual(compared.target.entries);
        expect(compared.changedSince(0n), `seed ${seed}`).toEqual(live.entries);
        expect(compared.changedSince(2n ** 62n), `seed ${seed}`).toEqual([]);
      });
    }
  });

  test('lists a directory with an omission below it, equal or not', async () => {
    const root = path.join(temporaryDirectory(), 'root');
    fs.mkdirSync(path.join(root, 'a/b'), { recursive: true });
    fs.mkdirSync(path.join(root, 'c'));
    fs.writeFileSync(path.join(root, 'a/b/kept'), 'kept');
    fs.writeFileSync(path.join(root, 'a/b/large'), Buffer.alloc(100));
    fs.writeFileSync(path.join(root, 'c/file'), 'file');
    await withStore(memoryBlobs(), { limits: { fileBytes: 50 } }, async (store) => {
      const { ref } = await store.snapshot(root);
      const { live, listed, unlisted } = await store.compare(root, ref);
      expect(listed.map((bytes) => Buffer.from(bytes).toString())).toEqual(['', 'a', 'a/b']);
      expect([live.entries.map(text), unlisted]).toEqual([['a', 'a/b', 'a/b/kept', 'c'], 1]);
      expect(live.omitted.map(({ reason }) => reason)).toEqual(['limit']);
    });
  });

  test('refuses a target beyond the limits, listed or not, and an unknown one', async () => {
    const root = path.join(temporaryDirectory(), 'root');
    fs.mkdirSync(path.join(root, 'd'), { recursive: true });
    for (let file = 0; file < 6; file += 1) fs.writeFileSync(path.join(root, `d/${file}`), 'x');
    const blobs = memoryBlobs();
    const { ref } = await withStore(blobs, {}, (store) => store.snapshot(root));
    fs.rmSync(path.join(root, 'd/5'));
    fs.rmSync(path.join(root, 'd/4'));
    await withStore(blobs, { limits: { entries: 6 } }, async (store) => {
      const failure = await store.compare(root, ref).catch((error: unknown) => error);
      expect(ArchiveLimitError.is(failure) && failure.limit).toBe('entries');
      const unknown = ref.replace(/.{4}$/, (end) => (end === '0000' ? '1111' : '0000')) as typeof ref;
      await expect(store.compare(root, unknown)).rejects.toBeInstanceOf(RefNotFoundError);
    });
  });
});

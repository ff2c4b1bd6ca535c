import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

import { systemRandom } from '@holdfast/base';
import { memoryBlobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import { nodeFileSystem } from '@holdfast/durable';
import { parseRef, WorkspaceStore } from '@holdfast/workspacestore';
import {
  canonicalOrder,
  generateTree,
  goldenFile,
  goldenTrees,
  writeTree,
} from '@holdfast/workspacestore/testing';
import { describe, expect, test } from 'vitest';

import { contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

interface ArchiveJson {
  readonly title: string;
  readonly meta: { readonly writer: string };
  readonly ref: string;
  readonly canonical: boolean;
  readonly name: string;
  readonly size: number;
  readonly tail: number;
  readonly bytes: string;
}

const onDisk = goldenTrees().filter((tree) => tree.omitted.length === 0);
const archives = goldenFile('archives.json') as readonly ArchiveJson[];

describe('a logical tree has one ref', () => {
  test.each(onDisk)('$name', async ({ nodes, rootMode, rules, ref, treeKey }) => {
    for (const reverse of [false, true]) {
      const umask = process.umask(reverse ? 0o077 : 0o022);
      const root = path.join(temporaryDirectory(), reverse ? 'elsewhere' : 'here');
      try {
        fs.mkdirSync(root);
        writeTree(nodeFileSystem(), root, canonicalOrder(nodes), { rootMode, reverse });
      } finally {
        process.umask(umask);
      }
      if (reverse) for (const name of fs.readdirSync(root, { encoding: 'buffer' })) touch(root, name);
      await withStore(memoryBlobs(), { compression: reverse ? 'brotli' : 'gzip' }, async (store) => {
        const snapshot = await store.snapshot(root, { ignore: rules });
        expect(snapshot.ref).toBe(ref);
        expect((await store.openTree(snapshot.ref)).treeKey).toBe(treeKey);
      });
    }
  });

  test('reasons for omissions and rules are part of it', async () => {
    const golden = goldenTrees().find(({ omitted }) => omitted.length > 0);
    const seen = golden?.omitted.map(({ reason }) => reason).sort();
    expect(seen).toEqual(['limit', 'mount', 'reserved', 'special', 'unreadable']);
  });
});

describe('archives', () => {
  test.each(archives.slice(0, 1))(
    'the bytes that are written: $title',
    async ({ meta, name, bytes, ref }) => {
      const root = temporaryDirectory();
      fs.chmodSync(root, 0o755);
      fs.writeFileSync(path.join(root, 'hello.txt'), 'hello\n', { mode: 0o644 });
      const blobs = memoryBlobs();
      const random = {
        bytes: (count: number) =>
          count === 16 ? Buffer.from(meta.writer, 'hex') : systemRandom.bytes(count),
      };
      await withStore(blobs, { compression: 'none', random }, async (store) => {
        expect((await store.snapshot(root)).ref).toBe(ref);
      });
      const stored = await blobs.getBytes(`archives/${name.slice(0, 2)}/${name}`);
      expect(Buffer.from(stored).toString('hex')).toBe(bytes);
    },
  );

  test.each(archives.slice(0, 2))('are read: $title', async ({ name, size, tail, bytes, ref }) => {
    const blobs = memoryBlobs();
    await blobs.put(`archives/${name.slice(0, 2)}/${name}`, Buffer.from(bytes, 'hex'));
    const record = commit(ref, { name, size, tail });
    await blobs.put(`snapshots/${ref.slice(10)}/${'0'.repeat(32)}-0000000001`, record);
    await withStore(blobs, async (store) => {
      const rows = await store.list(parseRef(ref));
      expect(rows).toEqual([{ path: 'hello.txt', kind: 'file', mode: 0o644, size: 6 }]);
      const parts: Uint8Array[] = [];
      for await (const part of await store.read(parseRef(ref), 'hello.txt')) parts.push(part);
      expect(Buffer.concat(parts).toString()).toBe('hello\n');
    });
  });

  test('nothing but the documented names is put', async () => {
    const root = temporaryDirectory();
    fs.writeFileSync(path.join(root, 'a'), 'a');
    const blobs = memoryBlobs();
    const store = await WorkspaceStore.open(blobs);
    const { ref, hold } = await store.snapshot(root);
    await store.close();
    const keys = [...(await contents(blobs)).keys()];
    const writer = hold.slice(0, 32);
    expect(keys.filter((key) => !key.startsWith('archives/'))).toEqual([
      `snapshots/${ref.slice(10)}/${hold}`,
      `writers/${writer}/0000000000`,
      `writers/${writer}/0000000001`,
      `writers/${writer}/0000000002`,
    ]);
    const copy = await blobs.getBytes(`snapshots/${ref.slice(10)}/${hold}`);
    expect(copy).toEqual(await blobs.getBytes(`writers/${writer}/0000000001`));
  });
});

describe('without our software', () => {
  test('a script of the format pages recovers a tree', async () => {
    const top = temporaryDirectory();
    const root = path.join(top, 'root');
    fs.mkdirSync(root);
    writeTree(
      nodeFileSystem(),
      root,
      canonicalOrder(generateTree(5, { nodes: 60, largestFile: 6 * 2 ** 20 })),
    );
    const blobs = await openFsBlobs(path.join(top, 'blobs'));
    const ref = await withStore(blobs, async (store) => {
      const first = await store.snapshot(root);
      fs.writeFileSync(path.join(root, 'later'), 'x');
      return (await store.snapshot(root, { base: first.ref })).ref;
    });
    await blobs.close();
    const script = fileURLToPath(new URL('../../../docs/formats/recover.py', import.meta.url));
    const dest = path.join(top, 'recovered');
    const { stderr } = spawnSync('python3', [script, path.join(top, 'blobs'), ref, dest], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(walk(dest)).toEqual(walk(root));
  });

  test('another implementation still writes the vectors that are here', () => {
    const script = fileURLToPath(new URL('../vectors/reference.py', import.meta.url));
    const { status, stderr } = spawnSync('python3', [script, '--check'], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});

function commit(ref: string, archive: object): Uint8Array {
  const line = `${JSON.stringify({
    format: 'holdfast-record/1',
    kind: 'commit',
    writer: '0'.repeat(32),
    slot: 1,
    ref,
    archives: [archive],
    stats: { entries: 1, files: 1, bytes: 6, stored: 0 },
    released: [],
    somethingNew: true,
  })}\n`;
  return Buffer.from(`${line}sha256 ${sha256(line)}\n`);
}

function sha256(text: string): string {
  // A second implementation on purpose: the test must not lean on what it tests.
  return createHash('sha256').update(text).digest('hex');
}

function touch(root: string, name: Buffer): void {
  const full = Buffer.concat([Buffer.from(`${root}/`), name]);
  fs.lutimesSync(full, new Date(1e12), new Date(1e12));
}

// An archive with zstd frames, written by a runtime that has zstd built in, is read by every runtime: with what is built
// in where there is something, with the decoder in JavaScript elsewhere.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import * as zlib from 'node:zlib';
import { memoryBlobs } from '@holdfast/blobs';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { goldenFile } from '@holdfast/workspacestore/testing';

const { name, size, tail, ref, files, base64 } = goldenFile('archive-zstd.json');

await describe('zstd', async () => {
  await it('is read', async () => {
    const blobs = memoryBlobs();
    await blobs.put(`archives/${name.slice(0, 2)}/${name}`, Buffer.from(base64, 'base64'));
    const line = `${JSON.stringify({
      format: 'holdfast-record/1',
      kind: 'commit',
      writer: '0'.repeat(32),
      slot: 1,
      ref,
      archives: [{ name, size, tail }],
      stats: { entries: 4, files: 4, bytes: 0, stored: 0 },
      released: [],
    })}\n`;
    const seal = createHash('sha256').update(line).digest('hex');
    await blobs.put(
      `snapshots/${ref.slice(10)}/${'0'.repeat(32)}-0000000001`,
      Buffer.from(`${line}sha256 ${seal}\n`),
    );
    const store = await WorkspaceStore.open(blobs);
    assert.deepEqual((await store.verify('all', { deep: true })).problems, []);
    for (const [file, digest] of Object.entries(files)) {
      const hash = createHash('sha256');
      for await (const part of await store.read(ref, file)) hash.update(part);
      assert.equal(hash.digest('hex'), digest, file);
    }
    await store.close();
  });

  await it('is written where it is built in, and refused elsewhere', async () => {
    const root = mkdtempSync(path.join(tmpdir(), 'holdfast-zstd-'));
    try {
      writeFileSync(path.join(root, 'a'), 'the same again and again, '.repeat(100));
      const opening = WorkspaceStore.open(memoryBlobs(), { compression: 'zstd' });
      if (zlib.zstdCompressSync === undefined) {
        await assert.rejects(opening, TypeError);
        return;
      }
      const store = await opening;
      const first = await store.snapshot(root);
      assert.ok(first.stats.bytesStored < 8000);
      assert.deepEqual((await store.verify(first.ref, { deep: true })).problems, []);
      await store.close();
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

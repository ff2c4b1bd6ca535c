import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { Blobs } from '@holdfast/blobs';
import { encryptionLayer, layerBlobs, retryLayer } from '@holdfast/blobs/layers';
import { openS3Blobs } from '@holdfast/s3';
import { type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { clientConfig, makeBucket } from '../../../packages/s3/test/services/bucket.js';
import { listTree } from '../../oracle/oracle.mjs';

let bucket = '';
let place = '';
beforeEach(async () => {
  bucket ||= await makeBucket();
  place = mkdtempSync(path.join(tmpdir(), 'holdfast-s3-'));
});
afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});

/** One host: its own view of the bucket, its own cache, and what it asked for. */
async function host(name: string, prefix: string, through: (blobs: Blobs) => Blobs) {
  const requests: string[] = [];
  const blobs = through(
    await openS3Blobs({
      bucket,
      prefix,
      client: clientConfig(),
      probe: false,
      onRequest: ({ operation }) => requests.push(operation),
    }),
  );
  const store = await WorkspaceStore.open(blobs, { cacheDirectory: path.join(place, `${name}-cache`) });
  return {
    store,
    /** What was asked for since the last time. */
    asked: () => requests.splice(0),
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await blobs.close();
    },
  };
}

/** A tree of 600 files in 30 directories. */
function makeTree(root: string): void {
  for (let directory = 0; directory < 30; directory += 1) {
    mkdirSync(path.join(root, `d${directory}`), { recursive: true });
    for (let file = 0; file < 20; file += 1) {
      writeFileSync(path.join(root, `d${directory}/f${file}`), `${directory} ${file}\n`.repeat(100 + file));
    }
  }
}

function changeTenFiles(root: string, round: number): void {
  for (let i = 0; i < 10; i += 1)
    writeFileSync(path.join(root, `d${i * 3}/f${i}`), `round ${round}\n${randomBytes(64).toString('hex')}\n`);
}

describe.each([
  ['raw', (blobs: Blobs) => layerBlobs(blobs, [retryLayer()])],
  [
    'encrypted',
    (blobs: Blobs) =>
      layerBlobs(blobs, [
        retryLayer(),
        encryptionLayer({
          keys: { k: new Uint8Array(32).fill(1) },
          active: 'k',
          nameKey: new Uint8Array(32).fill(2),
        }),
      ]),
  ],
] as const)('snapshots on a real S3 server, %s', (name, through) => {
  test('a checkpoint of ten changed files asks at most four times before its ref; another host fetches what it needs', async () => {
    const root = path.join(place, 'root');
    makeTree(root);
    let ref: Ref;
    {
      await using a = await host('a', name, through);
      const first = await a.store.snapshot(root);
      ref = first.ref;
      a.store.release(first.hold);
      a.asked();
      const durations: number[] = [];
      for (let round = 0; round < 20; round += 1) {
        changeTenFiles(root, round);
        const started = performance.now();
        const next = await a.store.snapshot(root, { base: ref });
        durations.push(performance.now() - started);
        const asked = a.asked();
        expect(asked.length, `round ${round}: ${asked.join(', ')}`).toBeLessThanOrEqual(4);
        ref = next.ref;
        a.store.release(next.hold);
        if (round === 0)
          console.log(`${name}: a checkpoint of ten changed files asks for ${asked.join(', ')}`);
        a.asked();
      }
      durations.sort((x, y) => x - y);
      console.log(
        `${name}: checkpoint p50 ${durations[10]?.toFixed(1)} ms, slowest ${durations[19]?.toFixed(1)} ms`,
      );
    }

    await using b = await host('b', name, through);
    const opened = b.asked();
    const started = performance.now();
    const copy = path.join(place, 'copy');
    await b.store.materialize(ref, copy);
    const fetched = b.asked();
    console.log(
      `${name}: opening elsewhere ${opened.length} requests, materializing 600 files of 21 checkpoints ${fetched.length} in ${(performance.now() - started).toFixed(0)} ms`,
    );
    expect(listTree(copy)).toEqual(listTree(root));
    // Archives of 21 checkpoints, a record, and what is read of each: in proportion to archives, not to files.
    expect(fetched.length).toBeLessThan(120);

    // One file of a large tree needs the way to it, not the tree.
    b.asked();
    const parts: Uint8Array[] = [];
    for await (const part of await b.store.read(ref, 'd3/f1')) parts.push(part);
    console.log(`${name}: one file ${b.asked().length} requests`);
    expect(Buffer.concat(parts).equals(readFileSync(path.join(root, 'd3/f1')))).toBe(true);
  });
});

import * as fs from 'node:fs';
import * as path from 'node:path';

import { findCause } from '@holdfast/base';
import { memoryBlobs } from '@holdfast/blobs';
import {
  CollectedError,
  IntegrityError,
  MaterializeError,
  type Ref,
  RefNotFoundError,
} from '@holdfast/workspacestore';
import { beforeAll, describe, expect, test } from 'vitest';

import { blobsOf, contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

let root: string;
let stored: Map<string, Uint8Array>;
let first: Ref;
let second: Ref;

beforeAll(async () => {
  root = path.join(temporaryDirectory(), 'root');
  fs.mkdirSync(path.join(root, 'd'), { recursive: true });
  fs.writeFileSync(path.join(root, 'a'), 'content of a');
  fs.writeFileSync(path.join(root, 'd/b'), 'content of b\n'.repeat(40));
  const blobs = memoryBlobs();
  await withStore(blobs, async (store) => {
    first = (await store.snapshot(root)).ref;
    fs.writeFileSync(path.join(root, 'c'), 'added');
    second = (await store.snapshot(root, { base: first })).ref;
  });
  stored = await contents(blobs);
});

async function deep(all: ReadonlyMap<string, Uint8Array>): Promise<readonly string[]> {
  return await withStore(await blobsOf(all), async (store) => {
    const { problems } = await store.verify('all', { deep: true });
    for (const { code } of problems) expect(code).toMatch(/^(WORKSPACE|BLOBS)_/);
    return problems.map(({ key, ref }) => key ?? ref ?? '');
  });
}

describe('verify', () => {
  test('finds nothing wrong with a good store, shallow or deep, of one ref or all', async () => {
    await withStore(await blobsOf(stored), async (store) => {
      for (const subject of [first, second, 'all'] as const) {
        for (const option of [false, true]) {
          const report = await store.verify(subject, { deep: option });
          expect(report.problems).toEqual([]);
          expect(report.bytes > 0).toBe(option);
        }
      }
      const all = await store.verify('all');
      expect([all.refs, all.entries, all.foreign]).toEqual([2, 7, []]);
    });
  });

  test('finds archives that are gone, and says which refs are affected', async () => {
    for (const lost of [...stored.keys()].filter((key) => key.startsWith('archives/'))) {
      const rest = new Map(stored);
      rest.delete(lost);
      const found = await deep(rest);
      expect(found).toContain(second);
      await withStore(await blobsOf(rest), async (store) => {
        await expect(store.openTree(second)).rejects.toSatisfy((error) => CollectedError.is(error));
      });
    }
  });

  test('lists names of others and leaves them alone', async () => {
    await withStore(
      await blobsOf(new Map(stored).set('somebody/else', Buffer.from('x'))),
      {},
      async (store) => {
        expect((await store.verify('all', { deep: true })).foreign).toEqual(['somebody/else']);
      },
    );
  });
});

describe('reading a damaged store', () => {
  test('says what is damaged, builds nothing, and leaves other snapshots whole', async () => {
    const record = [...stored.keys()].find((key) =>
      key.startsWith(`snapshots/${first.slice(10)}/`),
    ) as string;
    const oldName = /"name":"([0-9a-f]{64})"/.exec(
      Buffer.from(stored.get(record) as Uint8Array).toString(),
    )?.[1];
    const newer = [...stored.keys()].find(
      (key) => key.startsWith('archives') && !key.endsWith(oldName as string),
    ) as string;
    const bad = new Map(stored);
    const bytes = (stored.get(newer) as Uint8Array).slice();
    bytes.fill(0xff, 1024 + 512, 1024 + 512 + 8);
    bad.set(newer, bytes);
    await withStore(await blobsOf(bad), async (store) => {
      const failure = await store.materialize(second, `${root}-bad`).catch((error: unknown) => error);
      expect(MaterializeError.is(failure) && [failure.ref, failure.dest]).toEqual([second, `${root}-bad`]);
      expect(findCause(failure, IntegrityError)?.path).toBe('c');
      expect(fs.existsSync(`${root}-bad`)).toBe(false);
      expect(fs.readdirSync(path.dirname(root))).toEqual(['root']);
      await store.materialize(first, `${root}-good`);
      expect(walk(`${root}-good`).filter((line) => !line.startsWith('c '))).toEqual(
        walk(root).filter((line) => !line.startsWith('c ')),
      );
      fs.rmSync(`${root}-good`, { recursive: true });
    });
  });

  test('a record that is damaged is passed over when another one serves', async () => {
    const blobs = memoryBlobs();
    const { ref, hold } = await withStore(blobs, {}, (store) => store.snapshot(root));
    const again = await withStore(blobs, {}, (store) => store.snapshot(root));
    expect(again.ref).toBe(ref);
    const all = await contents(blobs);
    all.set(`snapshots/${ref.slice(10)}/${hold}`, Buffer.from('nonsense'));
    await withStore(await blobsOf(all), async (store) => {
      expect((await store.openTree(ref)).entries).toHaveLength(4);
    });
  });

  test('an unknown ref is not found, which is not damage', async () => {
    await withStore(await blobsOf(stored), async (store) => {
      const unknown = `v1:sha256:${'0'.repeat(64)}` as Ref;
      await expect(store.openTree(unknown)).rejects.toSatisfy((error) => RefNotFoundError.is(error));
      expect(await store.has(unknown)).toBe(false);
      expect(await store.has(second)).toBe(true);
      expect((await store.verify(unknown)).problems.map(({ code }) => code)).toEqual([
        'WORKSPACE_REF_NOT_FOUND',
      ]);
    });
  });
});

describe('copy', () => {
  test('carries a snapshot to another store under the same ref, without what that one has', async () => {
    const target = memoryBlobs();
    await withStore(await blobsOf(stored), async (source) => {
      await withStore(target, { compression: 'brotli' }, async (store) => {
        const one = await source.copy(first, store);
        expect(one.ref).toBe(first);
        const two = await source.copy(second, store, { base: first });
        expect(two.stats.entries).toBe(4);
        expect(two.stats.bytesStored).toBeLessThan(one.stats.bytesStored + 2000);
        expect((await store.verify('all', { deep: true })).problems).toEqual([]);
        await store.materialize(second, `${root}-copy`);
        expect(walk(`${root}-copy`)).toEqual(walk(root));
        fs.rmSync(`${root}-copy`, { recursive: true });
      });
    });
  });

  test('refuses to carry damage along', async () => {
    const bad = new Map(stored);
    const archive = [...bad.keys()].find((key) => key.startsWith('archives/')) as string;
    const bytes = (bad.get(archive) as Uint8Array).slice();
    bytes.fill(0, 1536, 1536 + 20);
    bad.set(archive, bytes);
    await withStore(await blobsOf(bad), async (source) => {
      await withStore(memoryBlobs(), async (store) => {
        await expect(source.copy(second, store)).rejects.toSatisfy((error) => IntegrityError.is(error));
        expect(await store.has(second)).toBe(false);
      });
    });
  });
});

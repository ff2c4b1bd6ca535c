import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { HoldfastError } from '@holdfast/base';
import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import {
  type FaultKind,
  type FaultOperation,
  FaultPlan,
  faultLayer,
  layerBlobs,
} from '@holdfast/blobs/layers';
import { nodeFileSystem } from '@holdfast/durable';
import { ArchiveLimitError, IntegrityError, type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { canonicalOrder, generateTree, writeTree } from '@holdfast/workspacestore/testing';
import { beforeEach, describe, expect, test } from 'vitest';

import { contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

let top: string;
let root: string;

beforeEach(() => {
  top = temporaryDirectory();
  root = path.join(top, 'root');
  fs.mkdirSync(root);
});

async function refsOf(blobs: Blobs): Promise<Ref[]> {
  const refs = new Set<Ref>();
  for (const key of (await contents(blobs)).keys()) {
    const hex = /^snapshots\/([0-9a-f]{64})\//.exec(key)?.[1];
    if (hex !== undefined) refs.add(`v1:sha256:${hex}` as Ref);
  }
  return [...refs];
}

/** Every ref that anybody can find is whole. */
async function allWhole(blobs: Blobs): Promise<void> {
  await withStore(blobs, async (store) => {
    for (const ref of await refsOf(blobs))
      expect((await store.verify(ref, { deep: true })).problems).toEqual([]);
  });
}

describe('a root that is deleted while it is captured', () => {
  test('is an error and no ref, never a tree with less in it', async () => {
    for (let directory = 0; directory < 60; directory += 1) {
      fs.mkdirSync(path.join(root, `d${directory}`));
      for (let file = 0; file < 50; file += 1)
        fs.writeFileSync(path.join(root, `d${directory}/f${file}`), `${directory} ${file}`);
    }
    const blobs = memoryBlobs();
    let deleted = false;
    await withStore(blobs, async (store) => {
      const snapshot = store.snapshot(root, {
        onProgress: ({ entries }) => {
          if (deleted || entries === 0) return;
          deleted = true;
          fs.rmSync(root, { recursive: true });
        },
      });
      await expect(snapshot).rejects.toSatisfy((error) => HoldfastError.is(error));
    });
    expect(deleted).toBe(true);
    expect(await refsOf(blobs)).toEqual([]);
  });
});

describe('a tree that an attacker changes', () => {
  test('never leads a capture out of it', async () => {
    const outside = path.join(top, 'outside');
    for (const directory of ['real', 'secret']) fs.mkdirSync(path.join(top, directory));
    fs.mkdirSync(outside);
    fs.writeFileSync(path.join(outside, 'f'), 'SECRET');
    for (let i = 0; i < 40; i += 1) fs.mkdirSync(path.join(root, `d${i}`));
    for (let i = 0; i < 40; i += 1) fs.writeFileSync(path.join(root, `d${i}/f`), 'inside');
    const swapper = spawn(process.execPath, [
      '-e',
      `const fs = require('fs'), path = require('path'); const [root, outside] = process.argv.slice(1);
       console.log('ready');
       for (let i = 0; ; i = (i + 1) % 40) {
         const d = path.join(root, 'd' + i);
         try { fs.renameSync(d, d + '.real'); fs.symlinkSync(outside, d); } catch {}
         try { fs.unlinkSync(d); fs.renameSync(d + '.real', d); } catch {}
       }`,
      root,
      outside,
    ]);
    try {
      await new Promise((resolve) => swapper.stdout.once('data', resolve));
      await withStore(memoryBlobs(), async (store) => {
        let seen = 0;
        for (let round = 0; round < 60; round += 1) {
          const { ref } = await store.snapshot(root);
          for (const row of await store.list(ref)) {
            if (row.kind !== 'file') continue;
            seen += 1;
            const parts: Uint8Array[] = [];
            for await (const part of await store.read(ref, row.path)) parts.push(part);
            expect(Buffer.concat(parts).toString()).toBe('inside');
          }
        }
        expect(seen).toBeGreaterThan(100);
      });
    } finally {
      swapper.kill('SIGKILL');
      await new Promise((resolve) => swapper.once('close', resolve));
    }
  });

  test('a file whose bytes are a tree is a file', async () => {
    fs.writeFileSync(path.join(root, 'a'), 'a');
    const blobs = memoryBlobs();
    const name = Buffer.from('evil');
    const treeObject = Buffer.concat([
      Buffer.from([3, 0, 0, 0, name.length]),
      name,
      Buffer.from([0, 11]),
      Buffer.from('/etc/passwd'),
    ]);
    fs.writeFileSync(path.join(root, 'fake'), treeObject);
    await withStore(blobs, async (store) => {
      const { ref } = await store.snapshot(root);
      expect((await store.list(ref)).map((row) => row.path)).toEqual(['a', 'fake']);
      await expect(store.list(ref, 'fake/evil')).rejects.toMatchObject({ code: 'WORKSPACE_ENTRY_NOT_FOUND' });
    });
  });

  test('depth: refused above the limit, captured below it', async () => {
    let deep = root;
    for (let level = 0; level < 600; level += 1) {
      deep = path.join(deep, 'd');
      fs.mkdirSync(deep);
    }
    await withStore(memoryBlobs(), async (store) => {
      const failure = await store.snapshot(root).catch((error: unknown) => error);
      expect(ArchiveLimitError.is(failure) && [failure.limit, failure.observed]).toEqual(['depth', 257]);
    });
    await withStore(memoryBlobs(), { limits: { depth: 600 } }, async (store) => {
      const { ref } = await store.snapshot(root);
      await store.materialize(ref, path.join(top, 'deep'));
      expect((await store.scan(path.join(top, 'deep'))).treeKey).toBe((await store.openTree(ref)).treeKey);
    });
  });
});

describe('snapshots at the same time', () => {
  test('of one tree, by one store and by several, are all whole', async () => {
    writeTree(nodeFileSystem(), root, canonicalOrder(generateTree(3, { nodes: 120 })));
    const blobs = await openFsBlobs(path.join(top, 'blobs'));
    const stores = await Promise.all([0, 1, 2].map(() => WorkspaceStore.open(blobs)));
    const results = await Promise.all(
      stores.flatMap((store) => [store.snapshot(root), store.snapshot(root)]),
    );
    expect(new Set(results.map(({ ref }) => ref)).size).toBe(1);
    expect(new Set(results.map(({ hold }) => hold)).size).toBe(6);
    await allWhole(blobs);
    await Promise.all(stores.map((store) => store.close()));
    await blobs.close();
  });

  test('killed at any moment leave no ref without its content, and nothing after a collection', async () => {
    writeTree(nodeFileSystem(), root, canonicalOrder(generateTree(9, { nodes: 60 })));
    const shared = path.join(top, 'blobs');
    const dist = new URL('../dist/index.js', import.meta.url).href;
    const fsBlobs = new URL('../../blobs/dist/fs/index.js', import.meta.url).href;
    const script = `
      const { WorkspaceStore } = await import(${JSON.stringify(dist)});
      const { openFsBlobs } = await import(${JSON.stringify(fsBlobs)});
      const { writeFileSync } = await import('node:fs');
      const store = await WorkspaceStore.open(await openFsBlobs(${JSON.stringify(shared)}));
      for (let i = 0; ; i += 1) {
        writeFileSync(${JSON.stringify(path.join(root, 'changing'))}, process.pid + ' ' + i);
        const { ref } = await store.snapshot(${JSON.stringify(root)});
        console.log(ref);
      }`;
    const told: Ref[] = [];
    for (let round = 0; round < 6; round += 1) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
      let text = '';
      child.stdout.on('data', (data: Buffer) => {
        text += data.toString();
        if (text.split('\n').length > 2 + round) child.kill('SIGKILL');
      });
      await new Promise((resolve) => child.once('close', resolve));
      told.push(...(text.split('\n').slice(0, -1) as Ref[]));
    }
    expect(told.length).toBeGreaterThan(10);
    const blobs = await openFsBlobs(shared);
    await allWhole(blobs);
    const found = await refsOf(blobs);
    for (const ref of told) expect(found).toContain(ref);
    await withStore(blobs, async (store) => {
      const writers = new Set((await contents(blobs)).keys());
      for (const key of writers) if (key.endsWith('/0000000000')) await store.forgetWriter(key.slice(8, 40));
      const last = told.at(-1) as Ref;
      await store.collect({ live: () => [last] });
      expect(await refsOf(blobs)).toEqual([last]);
      expect(
        [...(await contents(blobs)).keys()].filter((key) => key.startsWith('archives/')).length,
      ).toBeLessThan(12);
      expect((await store.verify('all', { deep: true })).problems).toEqual([]);
    });
    await blobs.close();
  });
});

describe('a backend that fails', () => {
  const plans: readonly (readonly [FaultOperation, FaultKind])[] = [
    ['put', 'busy'],
    ['put', 'denied'],
    ['put', 'lost-reply'],
    ['put', 'twice'],
    ['get', 'busy'],
    ['read', 'cut'],
    ['read', 'broken'],
    ['read', 'flipped'],
    ['read', 'doubled'],
    ['stat', 'busy'],
    ['list', 'busy'],
    ['list', 'broken'],
  ];

  test.each(plans)('%s %s: a whole ref or a typed error, at every call', async (operation, kind) => {
    for (let occurrence = 1; occurrence < 40; occurrence += 1) {
      const blobs = memoryBlobs();
      fs.writeFileSync(path.join(root, 'a'), 'one');
      const base = await withStore(blobs, {}, (store) => store.snapshot(root));
      fs.writeFileSync(path.join(root, 'a'), 'two');
      fs.writeFileSync(path.join(root, 'b'), 'three');
      const plan = new FaultPlan([{ operation, kind, occurrence }]);
      const failing = layerBlobs(blobs, [faultLayer(plan)], { keepOpen: true });
      const store = await WorkspaceStore.open(failing);
      const dest = path.join(top, 'dest');
      try {
        const { ref } = await store.snapshot(root, { base: base.ref });
        await store.materialize(ref, dest);
        expect(walk(dest)).toEqual(walk(root));
      } catch (error) {
        expect(error instanceof HoldfastError && error.code.startsWith('WORKSPACE_')).toBe(true);
        expect(fs.existsSync(dest)).toBe(false);
      }
      await store.close().catch((error: unknown) => {
        expect(error).toBeInstanceOf(HoldfastError);
      });
      fs.rmSync(dest, { recursive: true, force: true });
      await allWhole(blobs);
      expect(fs.readdirSync(top)).toEqual(['root']);
      if (plan.fired.length === 0) break;
      expect(occurrence).toBeLessThan(39);
    }
  });

  test('swapped archives are damage, not each other', async () => {
    const blobs = memoryBlobs();
    const refs: Ref[] = [];
    for (const text of ['one', 'two']) {
      fs.writeFileSync(path.join(root, 'a'), text);
      refs.push((await withStore(blobs, {}, (store) => store.snapshot(root))).ref);
    }
    const [first, second] = [...(await contents(blobs)).keys()].filter((key) => key.startsWith('archives/'));
    const [one, two] = [await blobs.getBytes(first as string), await blobs.getBytes(second as string)];
    await blobs.delete(first as string);
    await blobs.delete(second as string);
    await blobs.put(first as string, two);
    await blobs.put(second as string, one);
    await withStore(blobs, async (store) => {
      for (const ref of refs)
        await expect(store.openTree(ref)).rejects.toSatisfy((error) => IntegrityError.is(error));
      expect((await store.verify('all', { deep: true })).problems.length).toBeGreaterThanOrEqual(4);
    });
  });
});

test('memory does not grow with the size of a file', () => {
  const large = path.join(root, 'large');
  fs.writeFileSync(large, 'head');
  fs.truncateSync(large, 600 * 2 ** 20);
  const dist = new URL('../dist/index.js', import.meta.url).href;
  const blobs = new URL('../../blobs/dist/index.js', import.meta.url).href;
  const script = `
    const { WorkspaceStore } = await import(${JSON.stringify(dist)});
    const { memoryBlobs } = await import(${JSON.stringify(blobs)});
    const store = await WorkspaceStore.open(memoryBlobs());
    const before = process.resourceUsage().maxRSS;
    const { ref } = await store.snapshot(${JSON.stringify(root)});
    await store.materialize(ref, ${JSON.stringify(path.join(top, 'copy'))}, { sync: false });
    await store.close();
    console.log(Math.round((process.resourceUsage().maxRSS - before) / 1024));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(Number(stdout)).toBeLessThan(160);
});

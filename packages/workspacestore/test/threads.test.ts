import * as fs from 'node:fs';
import * as path from 'node:path';
import type { MessagePort } from 'node:worker_threads';

import { findCause, systemClock } from '@holdfast/base';
import { seededRandom } from '@holdfast/base/testing';
import { memoryBlobs } from '@holdfast/blobs';
import { ArchiveLimitError, IntegrityError, type SnapshotProgress } from '@holdfast/workspacestore';
import { beforeAll, describe, expect, test } from 'vitest';

import type { CaptureJob } from '../src/internal/engine/engine-messages.js';
import { EnginePool, type ReplyListener } from '../src/internal/engine/engine-pool.js';
import { captureRemotely } from '../src/internal/engine/remote-capture.js';
import { ObjectLookup } from '../src/internal/object-lookup.js';
import { defaultLimits } from '../src/limits.js';
import { blobsOf, contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

const clock = { ...systemClock, now: () => Date.now() + 10_000 };
let root: string;

beforeAll(() => {
  // These tests run the built thread: `tsc -b` first.
  expect(fs.existsSync(new URL('../dist/internal/engine/engine-worker.js', import.meta.url))).toBe(true);
  root = path.join(temporaryDirectory(), 'root');
  for (let d = 0; d < 60; d += 1) {
    const directory = path.join(root, `d${d}`);
    fs.mkdirSync(directory, { recursive: true });
    for (let f = 0; f < 80; f += 1)
      fs.writeFileSync(path.join(directory, `f${f}`), `${d} ${f}\n`.repeat((d * f) % 200));
  }
  fs.writeFileSync(path.join(root, 'big'), Buffer.alloc(6 * 2 ** 20, 'some text that repeats '));
});

describe('a large tree, captured in another thread', () => {
  test('has the ref that it has in this one, and is complete', async () => {
    const inline = await withStore(memoryBlobs(), { threads: false }, (store) => store.snapshot(root));
    await withStore(memoryBlobs(), { clock }, async (store) => {
      const seen: SnapshotProgress[] = [];
      const first = await store.snapshot(root, { onProgress: (progress) => seen.push(progress) });
      expect(first.ref).toBe(inline.ref);
      expect(first.stats.bytesRead).toBe(inline.stats.bytesRead);
      expect(first.coverage).toEqual(inline.coverage);
      const again = await store.snapshot(root, { base: first.ref });
      expect([again.hold, again.stats.filesRead]).toEqual([first.hold, 0]);
      fs.appendFileSync(path.join(root, 'd7/f7'), 'more');
      const third = await store.snapshot(root, { base: first.ref });
      expect(third.stats.filesRead).toBe(1);
      const live = await store.scan(root);
      expect(live.treeKey).toBe((await store.openTree(third.ref)).treeKey);
      expect(live.entries).toHaveLength(third.stats.entries);
      await store.materialize(third.ref, `${root}-copy`, { sync: false });
      expect(walk(`${root}-copy`)).toEqual(walk(root));
      expect(seen.every(({ phase }) => phase === 'scanning')).toBe(true);
    });
  });

  test('reports errors with their own classes', async () => {
    await withStore(memoryBlobs(), async (store) => {
      const failure = await store
        .snapshot(root, { limits: { entries: 3000 } })
        .catch((error: unknown) => error);
      expect(ArchiveLimitError.is(failure) && [failure.limit, failure.cap, failure.observed]).toEqual([
        'entries',
        3000,
        3001,
      ]);
      // The thread is free again.
      expect((await store.snapshot(root)).stats.entries).toBe(60 + 60 * 80 + 1);
    });
  });

  test('rejects with what the caller throws at a report, and reports no more', async () => {
    // One report is sure to come, in the middle, however fast the machine is.
    class Reporting extends EnginePool {
      override capture(job: CaptureJob, spares: MessagePort, listener: ReplyListener): void {
        super.capture(job, spares, (reply) => {
          const totals = { entries: 0, files: 0, bytes: 0, filesRead: 0, bytesRead: 0 };
          if (!(reply instanceof Error) && reply.type === 'frame') listener({ type: 'progress', totals });
          listener(reply);
        });
      }
    }
    const pool = new Reporting(true);
    expect(pool.available).toBe(true);
    const rules = {
      limits: defaultLimits,
      ignore: [],
      reserved: new Set<string>(),
      onUnreadable: 'fail',
      quiescent: false,
      racyFromNs: 0n,
      trustSignatures: true,
    } as const;
    const job = {
      root,
      ino: fs.statSync(root, { bigint: true }).ino,
      rules,
      previous: undefined,
      closure: new ObjectLookup().toParts(),
      scouted: undefined,
    };
    const reason = new Error('no more of this');
    let reports = 0;
    const capturing = captureRemotely(pool, job, {
      onProgress: () => {
        reports += 1;
        throw reason;
      },
      onFrame: () => Promise.resolve(),
    });
    await expect(capturing).rejects.toBe(reason);
    expect(reports).toBe(1);
    // The thread is free again.
    const result = await captureRemotely(pool, job, { onFrame: () => Promise.resolve() });
    expect(result.totals.entries).toBe(60 + 60 * 80 + 1);
    await pool.close();
  });

  test('is built from frames and chunks that other threads unpack, and damage in them is met', async () => {
    const noise = path.join(temporaryDirectory(), 'noise');
    fs.mkdirSync(noise);
    // Nothing that is compressed away: enough to be unpacked elsewhere.
    const bytes = seededRandom(7).bytes(18 * 2 ** 20);
    const large = bytes.subarray(0, 10 * 2 ** 20);
    fs.writeFileSync(path.join(noise, 'large'), large);
    for (let file = 0; file < 8; file += 1) {
      const piece = bytes.subarray(large.length + file * 2 ** 20, large.length + (file + 1) * 2 ** 20);
      fs.writeFileSync(path.join(noise, `small-${file}`), piece);
    }
    const blobs = memoryBlobs();
    await withStore(blobs, async (store) => {
      const { ref } = await store.snapshot(noise);
      await store.materialize(ref, `${noise}-copy`);
      expect(walk(`${noise}-copy`)).toEqual(walk(noise));
      const sound = await contents(blobs);
      for (const damaged of [large.subarray(5 * 2 ** 20), bytes.subarray(12 * 2 ** 20)]) {
        const broken = new Map(sound);
        for (const [key, value] of sound) {
          const at = Buffer.from(value).indexOf(damaged.subarray(100, 164));
          if (at !== -1) broken.set(key, value.with(at, (value[at] as number) ^ 1));
        }
        await withStore(await blobsOf(broken), async (reader) => {
          const failure = await reader.materialize(ref, `${noise}-broken`).catch((error: unknown) => error);
          expect(findCause(failure, IntegrityError)).toBeDefined();
          expect(fs.existsSync(`${noise}-broken`)).toBe(false);
        });
      }
    });
  });

  test('ends at once when it is aborted, and commits nothing', async () => {
    const blobs = memoryBlobs();
    const reason = new Error('enough');
    await withStore(blobs, async (store) => {
      for (const delay of [0, 20, 120]) {
        const controller = new AbortController();
        const running = store.snapshot(root, { signal: controller.signal });
        systemClock.schedule(delay, () => {
          controller.abort(reason);
        });
        await running.then(
          () => expect(delay).toBeGreaterThan(0),
          (error: unknown) => {
            expect(error).toBe(reason);
          },
        );
      }
    });
    const keys = [...(await contents(blobs)).keys()];
    const commits = keys.filter((key) => key.startsWith('snapshots/')).length;
    expect(commits).toBeLessThan(3);
  });

  test('is what one thread finds, whatever changed between two looks at it, at whichever end', async () => {
    const seed = Number(process.env['HOLDFAST_SEED'] ?? 20261130);
    console.log(`HOLDFAST_SEED=${seed}`);
    const random = seededRandom(seed);
    const place = path.join(temporaryDirectory(), 'edited');
    fs.cpSync(root, place, { recursive: true });
    const pick = (): string => path.join(place, `d${random.below(60)}`, `f${random.below(80)}`);
    const edits: readonly ((file: string, other: string) => void)[] = [
      (file) => {
        fs.appendFileSync(file, 'more');
      },
      // As large and, by its own account, as old as before.
      (file) => {
        const { size, atime, mtime } = fs.statSync(file);
        fs.writeFileSync(file, Buffer.alloc(size, random.below(128)));
        fs.utimesSync(file, atime, mtime);
      },
      (file) => {
        fs.rmSync(file);
      },
      (file) => {
        fs.writeFileSync(`${file}-added`, 'added');
      },
      (file) => {
        fs.chmodSync(file, fs.statSync(file).mode ^ 0o100);
      },
      // Untouched nodes under names that others had.
      (file, other) => {
        fs.renameSync(file, `${place}/between`);
        fs.renameSync(other, file);
        fs.renameSync(`${place}/between`, other);
      },
      (file, other) => {
        const [one, two] = [path.dirname(file), path.dirname(other)];
        fs.renameSync(one, `${place}/between`);
        if (one !== two) fs.renameSync(two, one);
        fs.renameSync(`${place}/between`, two);
      },
    ];
    await withStore(memoryBlobs(), { clock }, async (store) => {
      await store.snapshot(place);
      await store.snapshot(place);
      for (let round = 0; round < 12; round += 1) {
        for (let left = random.below(4); left >= 0; left -= 1) {
          const [file, other] = [pick(), pick()];
          if (file === other || !fs.existsSync(file) || !fs.existsSync(other)) continue;
          random.pick(edits)(file, other);
        }
        const found = await store.scan(place);
        const alone = await withStore(memoryBlobs(), { threads: false }, (fresh) => fresh.scan(place));
        expect(`${round} ${found.treeKey}`).toBe(`${round} ${alone.treeKey}`);
      }
    });
  });
});

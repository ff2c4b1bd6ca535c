import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findCause } from '@holdfast/base';
import { FileSystemError, nodeFileSystem, SyncFailedError } from '@holdfast/durable';
import { readTree } from '@holdfast/durable/testing';
import {
  type RestoreStrategy,
  reconcile,
  recover,
  swap,
  sweepScratch,
  WorkspaceRestoreError,
} from '@holdfast/restore';
import { afterAll, describe, expect, it } from 'vitest';

import { bench } from './support/bench.js';

const disk = nodeFileSystem();
const place = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-full-disk-')));
const mount = join(place, 'mount');

/** A small disk of its own needs privileges; without them a test says that this was left out. */
function mountSmallDisk(): boolean {
  mkdirSync(mount);
  const image = join(place, 'image');
  writeFileSync(image, '');
  truncateSync(image, 8 * 1024 * 1024);
  try {
    execFileSync('mkfs.ext4', ['-q', '-m', '0', image], { stdio: 'ignore' });
    execFileSync('mount', ['-o', 'loop', image, mount], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const mounted = mountSmallDisk();

afterAll(() => {
  if (mounted) execFileSync('umount', [mount], { stdio: 'ignore' });
  rmSync(place, { recursive: true, force: true });
});

/** Takes all space but so many bytes. */
function fill(leaving: number): void {
  const path = join(mount, 'filler');
  const file = openSync(path, 'w');
  const block = Buffer.alloc(4096, 1);
  let size = 0;
  try {
    for (;;) size += writeSync(file, block);
  } catch {
    closeSync(file);
  }
  truncateSync(path, Math.max(0, size - leaving));
}

function whenMounted(): void {
  const strategies: readonly RestoreStrategy[] = [reconcile({ prune: 'exact' }), swap({ fallback: false })];
  for (const strategy of strategies) {
    it(`leaves ${strategy.name} old or new, and what is left over recovers when there is space`, async () => {
      const kinds: string[] = [];
      for (const leaving of [0, 4096, 8192, 16_384, 65_536, 262_144, 1_048_576, 4_194_304]) {
        for (const name of readdirSync(mount))
          if (name !== 'lost+found') rmSync(join(mount, name), { recursive: true });
        const b = bench(undefined, mount);
        mkdirSync(join(b.root, 'd'), { recursive: true });
        for (let index = 0; index < 8; index += 1)
          writeFileSync(join(b.root, `old-${index}`), 'x'.repeat(40_000));
        const before = readTree(disk, b.root);
        const content = 'y'.repeat(60_000);
        const nodes = Object.fromEntries(
          Array.from({ length: 10 }, (_, index) => [
            `new-${index}/f`,
            { kind: 'file' as const, content: `${index}${content}` },
          ]),
        );
        const ref = b.source.define({ ...nodes, 'old-1': { kind: 'file', content } });
        fill(leaving);
        const error = await b.restore(ref, { strategy }).then(
          () => undefined,
          (caught: unknown) => caught,
        );
        kinds.push(
          error === undefined ? 'done' : WorkspaceRestoreError.is(error) ? error.kind : 'unavailable',
        );
        if (error !== undefined) {
          const cause = findCause(error, FileSystemError) ?? findCause(error, SyncFailedError);
          expect(cause?.errno).toBe('ENOSPC');
        }
        rmSync(join(mount, 'filler'));
        await recover(b.root, { isAlive: () => 'dead' });
        await sweepScratch(b.root, { settled: () => true });
        if (error !== undefined) expect(readTree(disk, b.root)).toEqual(before);
        else expect(b.source.capture(b.root)).toBe(ref);
        expect(readdirSync(mount).sort()).toEqual(['lost+found', 'root']);
      }
      expect(kinds.at(-1)).toBe('done');
      expect(kinds.filter((kind) => kind !== 'done').length).toBeGreaterThan(3);
    });
  }
}

describe('a disk that becomes full', () => {
  if (mounted) {
    whenMounted();
    return;
  }
  it('is left out here: mounting a small disk needs privileges', () => {
    expect(readdirSync(mount)).toEqual([]);
  });
});

import { Dir, publishFile, publishFileSync, removeTree, removeTreeSync } from '@holdfast/durable';
import {
  exploreCrashes,
  exploreFaults,
  ModelFileSystem,
  readTree,
  TracingFileSystem,
  writeTree,
} from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { diskKinds, text } from './support/disks.js';
import { ensureAgain, recipes, takenName } from './support/recipes.js';

describe('every recipe', () => {
  it.each([...recipes, takenName, ensureAgain])(
    'survives a crash at every change, and one during recovery: $name',
    async (recipe) => {
      const report = await exploreCrashes(recipe.scenario(), { crashes: 2 });
      expect(report.truncated).toBe(false);
      expect(report.states[0]).toBeGreaterThan(2);
      expect(report.states[1]).toBeGreaterThan(2);
    },
  );

  it.each(recipes)('acknowledges nothing that a failing call prevented: $name', async (recipe) => {
    // A fault is no crash: whoever is told of success must find it on the disk, synced or not.
    const scenario = recipe.scenario();
    for (const when of ['before', 'after'] as const) {
      for (const times of ['once', 'forever'] as const) {
        const acked: string[] = [];
        const faults = await exploreFaults(
          {
            setup: (disk) => {
              acked.length = 0;
              scenario.setup?.(disk);
            },
            run: (disk) =>
              recipe
                .scenario(() => disk)
                .run(disk.inner as ModelFileSystem, {
                  acked,
                  ack: (fact) => acked.push(fact),
                }),
            check: async (disk) => {
              await scenario.recover?.(disk, { acked, ack: () => undefined });
              await scenario.check(disk, { acked, finished: false, crashes: [] });
            },
          },
          { errnos: ['EIO', 'ENOSPC', 'EROFS'], when, times },
        );
        expect(faults).toBeGreaterThan(3);
      }
    }
  });
});

describe('both ways of running a recipe', () => {
  it('make the same changes in the same order, on the model and on the disk', async () => {
    const traces: string[][] = [];
    for (const kind of diskKinds) {
      for (const variant of ['async', 'sync'] as const) {
        const disk = kind.create();
        writeTree(disk.fileSystem, disk.path, { 'tree/a/b': 'x', 'tree/c': 'y' });
        const tracing = new TracingFileSystem(disk.fileSystem);
        using dir = Dir.openRoot(tracing, disk.path);
        if (variant === 'async') {
          await publishFile(dir, 'one', text('x'), { mode: 0o644 });
          await publishFile(dir, 'one', text('x'), { exclusive: false });
          await removeTree(dir, 'tree');
        } else {
          publishFileSync(dir, 'one', text('x'), { mode: 0o644 });
          publishFileSync(dir, 'one', text('x'), { exclusive: false });
          removeTreeSync(dir, 'tree');
        }
        // The order of names in a directory is the disk's own.
        const changes = tracing.changes(disk.path);
        traces.push([...changes.slice(0, 13), ...changes.slice(13).sort()]);
        expect(readTree(disk.fileSystem, disk.path)).toEqual({ one: 'file 600 "x"' });
        disk.remove();
      }
    }
    for (const trace of traces) expect(trace).toEqual(traces[0]);
    expect(traces[0]?.slice(0, 7)).toEqual([
      'createFile /.holdfast-tmp-*',
      'write /.holdfast-tmp-*',
      'chmod /.holdfast-tmp-*',
      'sync /.holdfast-tmp-*',
      'link /.holdfast-tmp-* → /one',
      'unlink /.holdfast-tmp-*',
      'sync ',
    ]);
  });

  it('leave the event loop free during a sync', async () => {
    const disk = diskKinds[1]?.create();
    if (disk === undefined) throw new Error('no real disk');
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    await publishFile(disk.dir, 'a', new Uint8Array(1_000_000));
    expect(turned).toBe(true);
    disk.remove();
  });
});

describe('a model', () => {
  it('keeps its inner disk usable for checks', () => {
    expect(new ModelFileSystem().grade).toBe('anchored');
  });
});

import { Dir, FileSystemError, publishFile } from '@holdfast/durable';
import {
  CrashCounterexampleError,
  exploreCrashes,
  exploreFaults,
  FaultFileSystem,
  ModelFileSystem,
  MutantFileSystem,
  readTree,
  TracingFileSystem,
  writeTree,
} from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { errnoOf, isA, onEveryDisk, put, text } from './support/disks.js';

/** Writes two files and forgets to sync the first one's bytes. */
const careless = {
  run: async (disk: ModelFileSystem, { ack }: { readonly ack: (fact: string) => void }): Promise<void> => {
    using dir = Dir.openRoot(disk, '/');
    put(dir, 'a', 'important');
    put(dir, 'noise', 'x');
    await dir.syncLater();
    ack('a');
    put(dir, 'later', 'x');
  },
  check: (disk: ModelFileSystem, { acked }: { readonly acked: readonly string[] }): void => {
    const tree = readTree(disk, '/');
    if (acked.includes('a') && tree['a'] !== 'file 600 "important"') throw new Error('a is lost');
  },
};

const counterexample = async (exploring: Promise<unknown>): Promise<CrashCounterexampleError> => {
  const error: unknown = await exploring.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CrashCounterexampleError)) throw new Error('nothing was found');
  return error;
};

describe('exploreCrashes', () => {
  it('finds a lost promise and tells the smallest story of it', async () => {
    const error = await counterexample(exploreCrashes(careless, { seed: 42 }));
    expect(error.seed).toBe(42);
    expect(error.crashes).toHaveLength(1);
    const [crash] = error.crashes;
    expect(crash).toMatchObject({ kind: 'power', during: 'run' });
    // The noise is left out: one file is damaged, everything else survives.
    expect(crash?.lost).toHaveLength(1);
    expect(crash?.lost[0]).toContain('unsynced bytes of /a');
    expect(error.message).toContain('check failed after 1 crash(es), seed 42');
    expect(error.message).toContain('acknowledged before: ["a"]');
    expect(error.message).toContain('cause: a is lost');
    expect(error.message).toMatch(/> +\d+ /);
    expect(error.cause).toEqual(new Error('a is lost'));
  });

  it('finds nothing where only the process dies', async () => {
    const report = await exploreCrashes(careless, { kinds: ['kill'] });
    expect(report.states[0]).toBe(report.operations.length + 1);
  });

  it('crashes at every change, after every acknowledgement and at the end', async () => {
    const seen: string[] = [];
    await exploreCrashes(
      {
        run: (disk, { ack }) => {
          using dir = Dir.openRoot(disk, '/');
          dir.mkdir('a');
          ack('a');
          dir.mkdir('b');
        },
        check: (_disk, { acked, finished, crashes }) => {
          seen.push(`${crashes[0]?.afterOperations} ${acked.join()} ${finished}`);
        },
      },
      { kinds: ['kill'] },
    );
    expect(seen).toEqual(['0  false', '1 a false', '2 a true']);
  });

  it('crashes recoveries too, and hands on what they promised', async () => {
    const facts = new Set<string>();
    const report = await exploreCrashes(
      {
        run: async (disk, { ack }) => {
          using dir = Dir.openRoot(disk, '/');
          await publishFile(dir, 'a', text('x'));
          ack('run');
        },
        recover: async (disk, { ack, acked }) => {
          using dir = Dir.openRoot(disk, '/');
          if (acked.includes('recovered')) return;
          await publishFile(dir, 'b', text('x'));
          ack('recovered');
        },
        check: (disk, { acked, crashes }) => {
          facts.add(`${crashes.length} ${acked.join()}`);
          const tree = readTree(disk, '/');
          if (acked.includes('run') && tree['a'] === undefined) throw new Error('a is lost');
          if (acked.includes('recovered') && tree['b'] === undefined) throw new Error('b is lost');
        },
      },
      { crashes: 3 },
    );
    expect(report.states).toHaveLength(3);
    expect(report.states.every((count) => count > 0)).toBe(true);
    expect([...facts].sort()).toEqual([
      '1 recovered',
      '1 run,recovered',
      '2 recovered',
      '2 run,recovered',
      '3 recovered',
      '3 run,recovered',
    ]);
  });

  it('reports a recovery that throws', async () => {
    const error = await counterexample(
      exploreCrashes({
        run: (disk) => {
          writeTree(disk, '/', { 'a/': null });
        },
        recover: (disk) => {
          Dir.openRoot(disk, '/a').close();
        },
        check: () => undefined,
      }),
    );
    expect(error.message).toContain('recover failed');
    expect(error.cause).toSatisfy(isA(FileSystemError));
  });

  it('does not hide a failure of the run itself', async () => {
    const failure = new Error('run');
    await expect(
      exploreCrashes({
        run: () => Promise.reject(failure),
        check: () => undefined,
      }),
    ).rejects.toBe(failure);
  });

  it('says when it sampled and when it was cut short, and repeats itself for a seed', async () => {
    const scenario = {
      run: (disk: ModelFileSystem): void => {
        using dir = Dir.openRoot(disk, '/');
        for (let index = 0; index < 16; index += 1) put(dir, `f${index}`, '');
      },
      check: () => undefined,
    };
    const first = await exploreCrashes(scenario, { seed: 3, exhaustiveUpTo: 8, samples: 20 });
    expect(first.exhaustive).toBe(false);
    expect(await exploreCrashes(scenario, { seed: 3, exhaustiveUpTo: 8, samples: 20 })).toEqual(first);
    const cut = await exploreCrashes(scenario, { exhaustiveUpTo: 8, samples: 20, maxStates: 10 });
    expect(cut).toMatchObject({ truncated: true, exhaustive: false, states: [10] });
    // Two changes for each file, and one more thing is pending after the first of them: up to eight of sixteen are few.
    expect(first.moments).toEqual([{ whole: 17, sampled: 16, cut: 0, leftOut: 0 }]);
    expect(cut.moments).toEqual([{ whole: 5, sampled: 0, cut: 1, leftOut: 27 }]);
  });

  it('finishes a moment that it began, when it is told to', async () => {
    const scenario = {
      run: (disk: ModelFileSystem): void => {
        using dir = Dir.openRoot(disk, '/');
        for (let index = 0; index < 6; index += 1) put(dir, `f${index}`, '');
      },
      check: () => undefined,
    };
    const whole = await exploreCrashes(scenario, { maxStates: 10, wholeMoments: true, kinds: ['power'] });
    expect(whole.moments).toEqual([{ whole: 8, sampled: 0, cut: 0, leftOut: 5 }]);
    expect(whole).toMatchObject({ truncated: true, exhaustive: false, states: [16] });
  });

  it('starts from a durable set-up and stops at an abort', async () => {
    const scenario = {
      setup: (disk: ModelFileSystem): void => {
        writeTree(disk, '/', { a: 'x' });
      },
      run: (disk: ModelFileSystem): void => {
        using dir = Dir.openRoot(disk, '/');
        dir.mkdir('b');
      },
      check: (disk: ModelFileSystem): void => {
        expect(readTree(disk, '/')['a']).toBe('file 600 "x"');
      },
    };
    expect((await exploreCrashes(scenario)).states).toEqual([5]);
    const reason = new Error('enough');
    await expect(exploreCrashes(scenario, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('an exploration with limits', () => {
  const moments = async (options: object): Promise<readonly (readonly number[])[]> => {
    const seen: number[][] = [];
    await exploreCrashes(
      {
        run: (disk) => {
          using dir = Dir.openRoot(disk, '/');
          for (let index = 0; index < 10; index += 1) dir.mkdir(`d${index}`);
        },
        recover: (disk) => {
          using dir = Dir.openRoot(disk, '/');
          for (let index = 0; index < 10; index += 1)
            if (dir.lstat(`e${index}`) === undefined) dir.mkdir(`e${index}`);
        },
        check: (_disk, { crashes }) => {
          seen.push(crashes.map(({ afterOperations }) => afterOperations));
        },
      },
      { kinds: ['kill'], ...options },
    );
    return seen;
  };

  it('leaves out any moments when it shuffles, the same ones for the same seed', async () => {
    expect(await moments({ maxStates: 3 })).toEqual([[0], [1], [2]]);
    const shuffled = await moments({ maxStates: 3, shuffle: true, seed: 7 });
    expect(shuffled).toHaveLength(3);
    expect(shuffled).not.toEqual([[0], [1], [2]]);
    expect(await moments({ maxStates: 3, shuffle: true, seed: 7 })).toEqual(shuffled);
    expect(await moments({ maxStates: 3, shuffle: true, seed: 8 })).not.toEqual(shuffled);
    expect((await moments({ shuffle: true })).map(([at]) => at).sort((a = 0, b = 0) => a - b)).toEqual([
      ...Array(11).keys(),
    ]);
  });

  it('spends a limit for each recovery, and leaves shorter stories out', async () => {
    const options = { crashes: 2, fewestCrashes: 2, maxStatesPerRecovery: 2 };
    const seen = await moments(options);
    expect(seen.every((story) => story.length === 2)).toBe(true);
    expect(new Set(seen.map(([first]) => first)).size).toBe(11);
    expect(seen.length).toBeLessThanOrEqual(22);
  });
});

describe('exploreFaults', () => {
  it('fails each call in turn and tells which one an unsafe protocol did not stand', async () => {
    const run = async (disk: FaultFileSystem): Promise<void> => {
      using dir = Dir.openRoot(disk, '/');
      await publishFile(dir, 'a', text('x'));
    };
    const outcomes: (string | undefined)[] = [];
    const faults = await exploreFaults(
      {
        run,
        check: (_disk, { error }) => void outcomes.push((error as { code?: string } | undefined)?.code),
      },
      { errnos: ['EIO'] },
    );
    expect(faults).toBe(6);
    expect(outcomes).toEqual([
      'DURABLE_FILE_SYSTEM',
      'DURABLE_FILE_SYSTEM',
      'DURABLE_SYNC_FAILED',
      'DURABLE_OUTCOME_UNCERTAIN',
      'DURABLE_OUTCOME_UNCERTAIN',
      'DURABLE_OUTCOME_UNCERTAIN',
    ]);
    const failing = exploreFaults({
      run,
      check: (_disk, { fault }) => {
        if (fault.nth === 4) throw new Error('not this one');
      },
    });
    await expect(failing).rejects.toThrow(/"nth":4.*not this one/);
  });

  it('does not hide a protocol that fails by itself', async () => {
    const failure = new Error('run');
    await expect(exploreFaults({ run: () => Promise.reject(failure), check: () => undefined })).rejects.toBe(
      failure,
    );
  });
});

onEveryDisk('wrappers', (disk) => {
  it('pass everything on and write it down', async () => {
    const tracing = new TracingFileSystem(disk().fileSystem);
    using dir = Dir.openRoot(tracing, disk().path);
    writeTree(tracing, disk().path, { a: 'one', 'd/': null, link: { link: 'a' } });
    expect(readTree(tracing, disk().path)).toEqual({
      a: 'file 600 "one"',
      d: 'directory 700',
      link: 'symlink "a"',
    });
    using file = dir.openFile('a', 'read-write');
    using copy = dir.createFile('copy');
    copy.copyFrom(file);
    file.truncate(1);
    file.chmod(0o640);
    dir.chmodAt('d', 0o711);
    await file.syncLater();
    dir.link('a', dir, 'b');
    dir.rename('b', dir, 'c');
    dir.rmdir('d');
    expect(errnoOf(() => dir.unlink('none'))).toBe('ENOENT');
    expect(tracing.grade).toBe(disk().fileSystem.grade);
    expect(tracing.canonicalPath(disk().path)).toEqual(disk().fileSystem.canonicalPath(disk().path));
    expect(dir.mountId()).toBe(disk().dir.mountId());
    expect(tracing.count('rename')).toBe(1);
    expect(tracing.count()).toBe(tracing.calls.length);
    expect(tracing.changes(disk().path).slice(-9)).toEqual([
      'copyContent /copy',
      'truncate /a',
      'chmod /a',
      'chmodAt /d',
      'sync /a',
      'link /a → /b',
      'rename /b → /c',
      'rmdir /d',
      'unlink /none ENOENT',
    ]);
    tracing.reset();
    expect(tracing.count()).toBe(0);
  });

  it('fail the calls they are told to', async () => {
    const faults = new FaultFileSystem(disk().fileSystem, [
      { operation: 'mkdir', nth: 2, errno: 'ENOSPC' },
      { operation: 'mkdir', pathEnd: '/special', nth: 1, errno: 'EACCES', times: 'forever' },
      { operation: 'rename', nth: 1, errno: 'EIO', when: 'after' },
      { operation: 'sync', nth: 2, errno: 'EIO', when: 'after' },
    ]);
    using dir = Dir.openRoot(faults, disk().path);
    dir.mkdir('a');
    expect(errnoOf(() => dir.mkdir('b'))).toBe('ENOSPC');
    dir.mkdir('b');
    expect(errnoOf(() => dir.mkdir('special'))).toBe('EACCES');
    expect(errnoOf(() => dir.mkdir('special'))).toBe('EACCES');
    expect(errnoOf(() => dir.rename('a', dir, 'c'))).toBe('EIO');
    expect(dir.lstat('c')).toBeDefined();
    await dir.syncLater();
    await expect(dir.syncLater()).rejects.toMatchObject({ errno: 'EIO' });
    expect(faults.fired).toBe(5);
  });
});

describe('MutantFileSystem', () => {
  it('leaves calls out or makes them late, and counts that', () => {
    const model = new ModelFileSystem();
    const dropping = new MutantFileSystem(model, { kind: 'drop', operation: 'mkdir', nth: 2 });
    using first = Dir.openRoot(dropping, '/');
    first.mkdir('a');
    first.mkdir('b');
    first.mkdir('c');
    expect(Object.keys(readTree(model, '/'))).toEqual(['a', 'c']);
    expect(dropping.applied).toBe(1);
    const late = new MutantFileSystem(model, {
      kind: 'delay',
      operation: 'mkdir',
      pathEnd: '/d',
      nth: 'every',
    });
    using second = Dir.openRoot(late, '/');
    second.mkdir('d');
    expect(second.lstat('d')).toBeUndefined();
    second.mkdir('e');
    expect(second.lstat('d')).toBeDefined();
  });
});

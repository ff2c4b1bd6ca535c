import { type FileSystem, FileSystemError } from '@holdfast/durable';
import {
  type Fault,
  FaultFileSystem,
  type FileSystemCall,
  ForwardingFileSystem,
  type ModelFileSystem,
  readTree,
} from '@holdfast/durable/testing';
import { reconcile, swap } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { crashCases } from './support/crash-cases.js';
import { type CrashCase, crashScenario, root } from './support/crash-scenario.js';
import { explored, twiceCrashed } from './support/explored.js';
import { WatchedFileSystem } from './support/forwarding.js';

const time = { timeout: 600_000 };
const strategies = { reconcile: reconcile(), swap: swap({ fallback: false }) };

describe('whole syncs instead of single ones', () => {
  for (const [label, strategy] of Object.entries(strategies)) {
    for (const [name, item] of Object.entries(crashCases)) {
      it(`leave old or new in ${label}: ${name}`, time, async () => {
        const report = await explored(crashScenario({ ...item, strategy, wholeSync: {} }), {
          crashes: 1,
        });
        expect(report.states[0]).toBeGreaterThan(40);
        const late = { ...item, dirty: undefined, strategy, wholeSync: {}, late: true };
        await explored(crashScenario(late), { ...twiceCrashed, maxStates: 200, maxStatesPerRecovery: 16 });
      });
    }
  }
});

describe('a file system without hard links', () => {
  for (const name of ['replace, create, delete', 'file becomes directory, directory becomes file']) {
    it(`leaves old or new: ${name}`, time, async () => {
      const item = { ...crashCases[name], links: false, strategy: reconcile() };
      const report = await explored(crashScenario(item as never), { crashes: 1 });
      expect(report.states[0]).toBeGreaterThan(80);
      const limits = { ...twiceCrashed, maxStates: 600, maxStatesPerRecovery: 16 };
      await explored(crashScenario(item as never), limits);
    });
  }
});

/** Fails the sync of a phase: the first is of `committing`, the second of the outcome. */
function failingPhase(nth: 1 | 2, more: Partial<Fault> = {}): (fileSystem: FileSystem) => FileSystem {
  const fault: Fault = { operation: 'sync', pathEnd: '/intent', nth, errno: 'EIO', ...more };
  return (fileSystem) => new FaultFileSystem(fileSystem, [fault]);
}

/** From the sync of the outcome on, nothing can be changed any more. */
function brokenAtOutcome(fileSystem: FileSystem): FileSystem {
  let phases = 0;
  return new WatchedFileSystem(fileSystem, ({ operation, path, changes }) => {
    if (operation === 'sync' && path.endsWith('/intent')) phases += 1;
    if (phases >= 2 && changes) throw new FileSystemError(operation, 'EIO', path);
  });
}

describe('a phase that cannot be recorded', () => {
  const unrecorded: Readonly<Record<string, Partial<CrashCase>>> = {
    '"committing" fails once': { through: failingPhase(1) },
    '"committing" fails once, and is there': { through: failingPhase(1, { when: 'after' }) },
    '"committing" fails, and every phase after it': { through: failingPhase(1, { times: 'forever' }) },
    '"committed" fails once': { through: failingPhase(2), late: true },
    '"committed" fails once, and is there': { through: failingPhase(2, { when: 'after' }), late: true },
    '"committed" fails, and every phase after it': {
      through: failingPhase(2, { times: 'forever' }),
      late: true,
    },
    '"committed" fails, and everything after it': { through: brokenAtOutcome, late: true },
    '"undone" fails once': { through: failingPhase(2), failVerification: true },
    '"undone" fails, and every phase after it': {
      through: failingPhase(2, { times: 'forever' }),
      failVerification: true,
    },
  };

  for (const [label, strategy] of Object.entries(strategies)) {
    for (const [name, more] of Object.entries(unrecorded)) {
      it(
        `leaves old or new as the journal says, once and twice crashed: ${label}, ${name}`,
        time,
        async () => {
          const item = { ...crashCases['replace, create, delete'], strategy, mayFail: true, ...more };
          const once = await explored(crashScenario(item as CrashCase), { crashes: 1 });
          expect(once).toMatchObject({ exhaustive: true });
          expect(once.states[0]).toBeGreaterThan(10);
          const limits = { ...twiceCrashed, maxStates: 400, maxStatesPerRecovery: 16 };
          await explored(crashScenario(item as CrashCase), limits);
        },
      );
    }
  }
});

/**
 * Refuses, from the first phase on, to open a file whose mode keeps its owner out, as the kernel does for a user without
 * privileges; a source may know its content all the same.
 */
class OwnerKeptOut extends ForwardingFileSystem {
  readonly #disk: ModelFileSystem;
  #armed = false;

  constructor(disk: ModelFileSystem) {
    super(disk);
    this.#disk = disk;
  }

  protected around<T>({ operation, path }: FileSystemCall, run: () => T): T {
    if (operation === 'sync' && path.endsWith('/intent')) this.#armed = true;
    if (this.#armed && operation === 'openFile' && path === `${root}/m`) {
      const mode = /^file ([0-7]+)/.exec(readTree(this.#disk, root)['m'] ?? '')?.[1] ?? '0';
      if ((Number.parseInt(mode, 8) & 0o400) === 0) throw new FileSystemError('open', 'EACCES', path);
    }
    return run();
  }
}

describe('the mode of a file that keeps its owner out', () => {
  const strategy = reconcile();
  for (const [from, to] of [
    [0o200, 0o755],
    [0o200, 0o300],
    [0o755, 0o200],
  ] as const) {
    const item: CrashCase = {
      old: { m: 'm' },
      target: { m: 'm' },
      modes: { old: { m: from }, target: { m: to } },
      strategy,
      through: (fileSystem) => new OwnerKeptOut(fileSystem),
    };
    const name = `${from.toString(8)} to ${to.toString(8)}`;

    it(`is durable when the restore is: ${name}`, time, async () => {
      expect(await explored(crashScenario(item), { crashes: 1 })).toMatchObject({ exhaustive: true });
    });

    it(`is durable when it is taken back: ${name}`, time, async () => {
      const taken = { ...item, failVerification: true };
      expect(await explored(crashScenario(taken), { crashes: 1 })).toMatchObject({ exhaustive: true });
      // Whoever is killed may have set it, and not synced it.
      await explored(crashScenario(taken), { crashes: 2, fewestCrashes: 2, exhaustiveUpTo: 6, samples: 8 });
    });
  }
});

import { ManualClock } from '@holdfast/base/testing';
import type { FileSystem } from '@holdfast/durable';
import {
  type CrashContext,
  CrashCounterexampleError,
  type CrashScenario,
  exploreCrashes,
  exploreFaults,
  type ModelFileSystem,
  MutantFileSystem,
  type Mutation,
} from '@holdfast/durable/testing';
import { isLeaseError, type Leaser } from '@holdfast/lease';
import { type Liveness, openFsLeaser, type ProcessTable } from '@holdfast/lease/fs';
import { describe, expect, it } from 'vitest';

const directory = '/var/leases';
const ttl = 3000;

interface Fact {
  readonly name: string;
  readonly epoch: number;
}

interface Opened {
  readonly leaser: Leaser;
  readonly clock: ManualClock;
}

/** Processes of one generation see each other; what became of earlier ones is `past`. */
function processes(pid: number, generation: number, past: Liveness): ProcessTable {
  return {
    self: () => ({ hostId: `${generation}`, bootId: null, pidNamespace: null, pid, startTime: null }),
    isAlive: (other) => (other.hostId === `${generation}` ? 'alive' : past),
  };
}

let generations = 0;

async function open(fileSystem: FileSystem, pid: number, past: Liveness): Promise<Opened> {
  const clock = new ManualClock();
  const table = processes(pid, generations, past);
  return { clock, leaser: await openFsLeaser(directory, { fileSystem, clock, ttl, processes: table }) };
}

/** Acquires as a new process does; waits for a whole time-to-live where it cannot tell who is dead. */
async function takeOver({ leaser, clock }: Opened, name: string, past: Liveness): Promise<number> {
  try {
    const lease = await leaser.acquire(name);
    return lease.epoch;
  } catch (error) {
    if (past !== 'unknown') throw error;
    await clock.advance(ttl);
    return (await leaser.acquire(name)).epoch;
  }
}

function scenario(
  past: Liveness,
  wrap: (disk: FileSystem) => FileSystem = (disk) => disk,
): CrashScenario<Fact> {
  const above = (acked: readonly Fact[], name: string): number =>
    Math.max(0, ...acked.filter((fact) => fact.name === name).map((fact) => fact.epoch));
  const again = async (disk: ModelFileSystem, { acked, ack }: CrashContext<Fact>): Promise<void> => {
    generations += 1;
    const opened = await open(wrap(disk), 9, past);
    for (const name of ['a', 'b']) {
      const epoch = await takeOver(opened, name, past);
      expect(epoch, `epoch of ${name}`).toBeGreaterThan(above(acked, name));
      ack({ name, epoch });
    }
  };
  return {
    run: async (disk, { ack }) => {
      generations += 1;
      const [first, second] = [await open(wrap(disk), 1, past), await open(wrap(disk), 2, past)];
      const granted = async ({ leaser }: Opened, name: string, from = 0): Promise<() => Promise<void>> => {
        const lease = await leaser.acquire(name, { above: from });
        ack({ name, epoch: lease.epoch });
        return async () => {
          await lease.release();
        };
      };
      const releaseA = await granted(first, 'a');
      await releaseA();
      const [releaseB] = await Promise.all([granted(second, 'b', 6), granted(first, 'a')]);
      await releaseB();
      await granted(first, 'b');
      // The last holders are still inside when the crash comes.
    },
    recover: again,
    check: async (disk, { acked }) => {
      await again(disk, { acked, ack: () => undefined });
      generations += 1;
      const { leaser } = await open(disk, 10, 'dead');
      await (await leaser.acquire('a')).release();
      await (await leaser.acquire('b')).release();
      await leaser.close();
    },
  };
}

describe('grants and releases', () => {
  it.each(['dead', 'unknown'] as const)(
    'keep their epochs on every disk that one crash can leave, with holders that are %s',
    async (past) => {
      const report = await exploreCrashes(scenario(past));
      expect(report).toMatchObject({ truncated: false });
      expect(report.states[0]).toBeGreaterThan(100);
    },
  );

  it('keep their epochs when the next process crashes too', async () => {
    const report = await exploreCrashes(scenario('dead'), {
      crashes: 2,
      exhaustiveUpTo: 4,
      samples: 8,
      recoveryExhaustiveUpTo: 4,
      recoverySamples: 4,
      maxStates: 2500,
    });
    expect(report.states[1]).toBeGreaterThan(500);
  });

  it('keep their epochs whichever single change fails', async () => {
    const faults = await exploreFaults({
      run: async (disk) => {
        generations += 1;
        const { leaser } = await open(disk, 1, 'dead');
        await (await leaser.acquire('a')).release();
        await (await leaser.acquire('a', { above: 7 })).release();
      },
      check: async (disk, { error }) => {
        expect(error === undefined || isLeaseError(error), String(error)).toBe(true);
        // The process that met the failure lives on, so nobody may have to wait for it.
        const { leaser } = await open(disk, 2, 'alive');
        const first = await leaser.acquire('a');
        await first.release();
        expect((await leaser.acquire('a')).epoch).toBeGreaterThan(first.epoch);
      },
    });
    expect(faults).toBeGreaterThan(20);
  });
});

describe('the exploration', () => {
  /** One process alone, so that no other one's sync makes up for one that is left out. */
  const alone = (wrap: (disk: FileSystem) => FileSystem): CrashScenario<Fact> => ({
    ...scenario('dead'),
    run: async (disk, { ack }) => {
      generations += 1;
      const { leaser } = await open(wrap(disk), 1, 'dead');
      const lease = await leaser.acquire('a');
      ack({ name: 'a', epoch: lease.epoch });
      await lease.release();
      ack({ name: 'a', epoch: (await leaser.acquire('a')).epoch });
    },
  });

  const syncs = [
    ...['the name of var', 'the name of leases', 'the name of the lease'],
    ...['the bytes of epoch 1', 'the name of epoch 1', 'the bytes of epoch 2', 'the name of epoch 2'],
  ];

  it('finds every single sync that is left out', async () => {
    const survivors: string[] = [];
    for (const [index, name] of syncs.entries()) {
      const mutation: Mutation = { kind: 'drop', operation: 'sync', nth: index + 1 };
      const mutants: MutantFileSystem[] = [];
      const explored = exploreCrashes(
        alone((disk) => {
          const mutant = new MutantFileSystem(disk, mutation);
          mutants.push(mutant);
          return mutant;
        }),
      );
      const outcome = await explored.catch((error: unknown) => error);
      expect(mutants.at(-1)?.applied, `${name}: there is no such sync`).toBe(1);
      if (!(outcome instanceof CrashCounterexampleError)) survivors.push(name);
    }
    expect(survivors).toEqual([]);
  });
});

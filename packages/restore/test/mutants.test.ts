import type { FileSystem } from '@holdfast/durable';
import {
  CrashCounterexampleError,
  exploreCrashes,
  FaultFileSystem,
  MutantFileSystem,
  type Mutation,
  TracingFileSystem,
} from '@holdfast/durable/testing';
import { reconcile, swap } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { type CrashCase, crashScenario } from './support/crash-scenario.js';

const item: CrashCase = {
  old: { a: 'old', gone: 'gone', m: 'm' },
  target: { a: 'new', m: 'm', 'n/': null, 'n/y': 'y' },
  modes: { target: { m: 0o755, n: 0o500 } },
};

const strategies = { reconcile: reconcile(), swap: swap({ fallback: false }) };
const time = { timeout: 120_000 };

/** Whether crash exploration finds a broken promise. A mutant that cannot even run has died too. */
async function dies(mutated: CrashCase): Promise<boolean> {
  try {
    await exploreCrashes(crashScenario(mutated), { kinds: ['power'], exhaustiveUpTo: 8, samples: 48 });
    return false;
  } catch (error) {
    if (error instanceof CrashCounterexampleError) return true;
    throw error;
  }
}

function withMutation(
  strategy: CrashCase['strategy'],
  mutation: Mutation,
  beneath: (fileSystem: FileSystem) => FileSystem = (fileSystem) => fileSystem,
): CrashCase & { applied(): number } {
  let mutant: MutantFileSystem | undefined;
  return {
    ...item,
    strategy,
    through: (fileSystem) => {
      mutant = new MutantFileSystem(beneath(fileSystem), mutation);
      return mutant;
    },
    applied: () => mutant?.applied ?? 0,
  };
}

/** How many syncs there are until the outcome is recorded: every one of them matters. */
async function syncsUntilCommitted(strategy: CrashCase['strategy']): Promise<number> {
  let trace: TracingFileSystem | undefined;
  const traced: CrashCase = {
    ...item,
    strategy,
    through: (fileSystem) => {
      trace = new TracingFileSystem(fileSystem);
      return trace;
    },
  };
  await exploreCrashes(crashScenario(traced), { crashes: 1, maxStates: 1 });
  const syncs = (trace?.calls ?? []).filter(({ operation }) => operation === 'sync');
  return syncs.findLastIndex(({ path }) => path.endsWith('/intent')) + 1;
}

for (const [label, strategy] of Object.entries(strategies)) {
  describe(`durability mistakes in ${label}`, () => {
    it('has so many syncs that matter', async () => {
      expect(await syncsUntilCommitted(strategy)).toBe(13);
    });

    for (let nth = 1; nth <= 13; nth += 1) {
      it(`dies without its sync ${nth}`, time, async () => {
        const mutated = withMutation(strategy, { kind: 'drop', operation: 'sync', nth });
        expect(await dies(mutated)).toBe(true);
        expect(mutated.applied()).toBe(1);
      });
    }

    it('dies when the journal is told at the read-back', time, async () => {
      expect(await dies({ ...item, strategy, earlyAck: { step: 'verify', promise: 'restored' } })).toBe(true);
    });

    it('dies when the journal is told before the first change', time, async () => {
      expect(await dies({ ...item, strategy, earlyAck: { step: 'commit', promise: 'restored' } })).toBe(true);
    });

    it('dies when the journal is told of an end that may not come', time, async () => {
      expect(await dies({ ...item, strategy, earlyAck: { step: 'commit', promise: 'aborted' } })).toBe(true);
    });
  });
}

/** Each makes one step come after the next. */
const swapped: readonly (readonly [keyof typeof strategies, string, Mutation])[] = [
  [
    'reconcile',
    'the intent gets its name before its bytes are durable',
    { kind: 'delay', operation: 'sync', nth: 3 },
  ],
  [
    'reconcile',
    'the name of the intent is synced after staging began',
    { kind: 'delay', operation: 'sync', nth: 4 },
  ],
  [
    'reconcile',
    'staged bytes are synced late',
    { kind: 'delay', operation: 'sync', pathEnd: '/work/new/2', nth: 1 },
  ],
  [
    'reconcile',
    'undo names are synced after the phase is written',
    { kind: 'delay', operation: 'sync', pathEnd: '/work/undo', nth: 1 },
  ],
  [
    'reconcile',
    'the first change comes before "committing" is durable',
    { kind: 'delay', operation: 'sync', pathEnd: '/intent', nth: 1 },
  ],
  [
    'reconcile',
    '"committed" is written before the root is durable',
    { kind: 'delay', operation: 'sync', pathEnd: '/root', nth: 1 },
  ],
  [
    'reconcile',
    'a mode is synced before it is set',
    { kind: 'delay', operation: 'chmod', pathEnd: '/root/m', nth: 1 },
  ],
  [
    'reconcile',
    'the event comes before "committed" is durable',
    { kind: 'delay', operation: 'sync', pathEnd: '/intent', nth: 2 },
  ],
  [
    'swap',
    'the old root leaves its name after the new one took it',
    { kind: 'delay', operation: 'rename', pathEnd: '/.root.backup', nth: 1 },
  ],
  [
    'swap',
    'the new root takes its name before the old one durably left it',
    { kind: 'delay', operation: 'sync', pathEnd: '/base', nth: 2 },
  ],
  [
    'swap',
    'the first change comes before "committing" is durable',
    { kind: 'delay', operation: 'sync', pathEnd: '/intent', nth: 1 },
  ],
  [
    'swap',
    '"committed" is written before the new name is durable',
    { kind: 'delay', operation: 'sync', pathEnd: '/base', nth: 3 },
  ],
];

describe('steps in the wrong order', () => {
  for (const [label, mistake, mutation] of swapped) {
    it(`dies in ${label} when ${mistake}`, time, async () => {
      const mutated = withMutation(strategies[label], mutation);
      expect(await dies(mutated)).toBe(true);
      expect(mutated.applied()).toBe(1);
    });
  }
});

/** What comes after the thirteen syncs of a restore, the last of which failed. */
const backwards: readonly (readonly [keyof typeof strategies, string, Mutation])[] = [
  ['reconcile', 'the new intent is not synced', { kind: 'drop', operation: 'sync', nth: 14 }],
  ['reconcile', 'the name of the new intent is not synced', { kind: 'drop', operation: 'sync', nth: 15 }],
  [
    'reconcile',
    'the old names are not synced',
    { kind: 'drop', operation: 'sync', pathEnd: '/root', nth: 2 },
  ],
  ['reconcile', 'an old mode is not synced', { kind: 'drop', operation: 'sync', pathEnd: '/root/m', nth: 2 }],
  ['swap', 'the new intent is not synced', { kind: 'drop', operation: 'sync', nth: 14 }],
  ['swap', 'the name of the new intent is not synced', { kind: 'drop', operation: 'sync', nth: 15 }],
  ['swap', 'the old name is not synced', { kind: 'drop', operation: 'sync', pathEnd: '/base', nth: 5 }],
];

describe('the way back when the outcome cannot be recorded', () => {
  const fault = { operation: 'sync', pathEnd: '/intent', nth: 2, errno: 'EIO' } as const;
  const failing = (strategy: CrashCase['strategy'], mutation: Mutation) => ({
    ...withMutation(strategy, mutation, (fileSystem) => new FaultFileSystem(fileSystem, [fault])),
    mayFail: true,
  });

  for (const [label, mistake, mutation] of backwards) {
    it(`dies in ${label} when ${mistake}`, time, async () => {
      const mutated = failing(strategies[label], mutation);
      expect(await dies(mutated)).toBe(true);
      expect(mutated.applied()).toBe(1);
    });
  }

  for (const [label, strategy] of Object.entries(strategies)) {
    it(`survives in ${label} without a mistake`, time, async () => {
      const none: Mutation = { kind: 'drop', operation: 'sync', nth: 1_000 };
      expect(await dies(failing(strategy, none))).toBe(false);
    });
  }
});

describe('whole syncs', () => {
  // The two of a swap, of the new tree and of what is young in the old one, stand in for each other while both are made.
  const leftOut = { reconcile: [[1], [2]], swap: [[1, 2]] };
  for (const [label, strategy] of Object.entries(strategies)) {
    for (const leaveOut of leftOut[label as keyof typeof leftOut]) {
      it(`die in ${label} without ${leaveOut.join(' and ')}`, time, async () => {
        expect(await dies({ ...item, strategy, wholeSync: { leaveOut } })).toBe(true);
      });
    }

    it(`survive in ${label} with all of them`, time, async () => {
      expect(await dies({ ...item, strategy, wholeSync: {} })).toBe(false);
    });
  }
});

describe('the unchanged protocol', () => {
  for (const [label, strategy] of Object.entries(strategies)) {
    it(`survives the same exploration: ${label}`, time, async () => {
      expect(await dies({ ...item, strategy })).toBe(false);
    });
  }
});

import {
  type CrashCounterexampleError,
  exploreCrashes,
  MutantFileSystem,
  type Mutation,
} from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { ensureAgain, type Recipe, recipes, sweepAgain, takenName } from './support/recipes.js';

const byName = (name: string): Recipe => {
  const recipe = [...recipes, takenName, ensureAgain, sweepAgain].find(
    (candidate) => candidate.name === name,
  );
  if (recipe === undefined) throw new Error(`no recipe ${name}`);
  return recipe;
};

/** Every sync left out, every order of two steps turned round: each must be caught by the promise of its recipe. */
const mutants: readonly (readonly [recipe: string, mistake: string, mutation: Mutation])[] = [
  ['publishFile', 'the file is not synced', { kind: 'drop', operation: 'sync', nth: 1 }],
  ['publishFile', 'the directory is not synced', { kind: 'drop', operation: 'sync', nth: 2 }],
  ['publishFile', 'the name comes before the file is synced', { kind: 'delay', operation: 'sync', nth: 1 }],
  [
    'publishFile',
    'the directory is synced before the name is given',
    { kind: 'delay', operation: 'link', nth: 1 },
  ],
  ['publishFile', 'the mode is not set', { kind: 'drop', operation: 'chmod', nth: 1 }],
  ['publishFile', 'the mode is set after the sync', { kind: 'delay', operation: 'chmod', nth: 1 }],
  ['replaceFile', 'the bytes are written after the sync', { kind: 'delay', operation: 'write', nth: 1 }],
  ['replaceFile', 'the file is not synced', { kind: 'drop', operation: 'sync', nth: 1 }],
  ['replaceFile', 'the directory is not synced', { kind: 'drop', operation: 'sync', nth: 2 }],
  [
    'replaceFile',
    'the rename comes before the sync of the file',
    { kind: 'delay', operation: 'sync', nth: 1 },
  ],
  [
    'replaceFile',
    'the directory is synced before the rename',
    { kind: 'delay', operation: 'rename', nth: 1 },
  ],
  ['replaceFile of nothing', 'the file is not synced', { kind: 'drop', operation: 'sync', nth: 1 }],
  ['removeDurably', 'the directory is not synced', { kind: 'drop', operation: 'sync', nth: 1 }],
  [
    'removeDurably',
    'the directory is synced before the unlink',
    { kind: 'delay', operation: 'unlink', nth: 1 },
  ],
  ['removeTree', 'nothing is synced', { kind: 'drop', operation: 'sync', nth: 'every' }],
  ['removeTree', 'deleting starts before the rename is durable', { kind: 'drop', operation: 'sync', nth: 1 }],
  [
    'publishDirectory',
    'a staged file is not synced',
    { kind: 'drop', operation: 'sync', pathEnd: '/b', nth: 1 },
  ],
  [
    'publishDirectory',
    'another staged file is not synced',
    { kind: 'drop', operation: 'sync', pathEnd: '/c', nth: 1 },
  ],
  [
    'publishDirectory',
    'an inner directory is not synced',
    { kind: 'drop', operation: 'sync', pathEnd: '/a', nth: 1 },
  ],
  [
    'publishDirectory',
    'the staged directory is not synced',
    { kind: 'drop', operation: 'sync', pathEnd: '/stage', nth: 1 },
  ],
  [
    'publishDirectory',
    'the parent is not synced',
    { kind: 'drop', operation: 'sync', pathEnd: '/d', nth: 1 },
  ],
  [
    'publishDirectory',
    'the rename comes before the last sync',
    { kind: 'delay', operation: 'sync', pathEnd: '/stage', nth: 1 },
  ],
  ['appendDurably', 'the first append is not synced', { kind: 'drop', operation: 'sync', nth: 1 }],
  ['appendDurably', 'the last append is not synced', { kind: 'drop', operation: 'sync', nth: 3 }],
  ['appendDurably', 'the bytes are written after the sync', { kind: 'delay', operation: 'write', nth: 2 }],
  [
    'ensureDirectory',
    'the first level is not synced',
    { kind: 'drop', operation: 'sync', pathEnd: '/d', nth: 'every' },
  ],
  [
    'ensureDirectory',
    'the second level is not synced',
    { kind: 'drop', operation: 'sync', pathEnd: '/a', nth: 'every' },
  ],
  [
    'sweepTemporaries after an interrupted removeTree',
    'the rename is not made durable',
    { kind: 'drop', operation: 'sync', nth: 1 },
  ],
  [
    'ensureDirectory after an interrupted one',
    'what is found is not synced',
    { kind: 'drop', operation: 'sync', nth: 1 },
  ],
  [
    'publishFile of a name that a dead writer gave',
    'the directory is not synced',
    { kind: 'drop', operation: 'sync', nth: 2 },
  ],
];

describe('a durability mistake', () => {
  it.each(mutants)('in %s is caught: %s', async (recipe, _mistake, mutation) => {
    let applied = 0;
    const scenario = byName(recipe).scenario((disk) => {
      const mutant = new MutantFileSystem(disk, mutation);
      return new Proxy(mutant, {
        get: (target, property): unknown => {
          applied = Math.max(applied, target.applied);
          const value: unknown = Reflect.get(target, property, target);
          return typeof value === 'function'
            ? (value as (...args: unknown[]) => unknown).bind(target)
            : value;
        },
      });
    });
    let caught: unknown;
    try {
      await exploreCrashes(scenario, { crashes: 2 });
    } catch (error) {
      caught = error;
    }
    expect((caught as CrashCounterexampleError | undefined)?.name, 'the mutant survived').toBe(
      'CrashCounterexampleError',
    );
    expect(applied, 'the mistake was never made').toBeGreaterThan(0);
  });

  it('of acknowledging early is caught', async () => {
    const honest = byName('replaceFile').scenario();
    const early = {
      ...honest,
      run: (disk: Parameters<typeof honest.run>[0], context: Parameters<typeof honest.run>[1]) => {
        context.ack('done');
        return honest.run(disk, { acked: context.acked, ack: () => undefined });
      },
    };
    await expect(exploreCrashes(early)).rejects.toThrow('an acknowledged change is lost');
  });

  it('of letting go of the temporary name too early is caught', async () => {
    const mutation = { kind: 'delay', operation: 'link', nth: 1 } as const;
    const scenario = byName('publishFile').scenario((disk) => new MutantFileSystem(disk, mutation));
    await expect(exploreCrashes(scenario)).rejects.toThrow('an acknowledged change is lost');
  });
});

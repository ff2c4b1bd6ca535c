import { CrashCounterexampleError, MutantFileSystem } from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { exploreSubject } from './explore.mjs';
import { planted } from './planted.mjs';
import { subjects } from './subjects/index.mjs';

const time = { timeout: 300_000 };
const subjectOf = (name: string) => {
  const subject = subjects.find((candidate) => candidate.name === name);
  if (subject === undefined) throw new Error(`no subject ${name}`);
  return subject;
};

describe('every subject', () => {
  it.each(subjects.map(({ name }) => name))(
    'keeps its promises after one crash and after two: %s',
    time,
    async (name) => {
      const subject = subjectOf(name);
      const few = subject.slow === true ? 15 : 60;
      for (const crashes of [1, 2] as const) {
        const options = {
          seed: 1,
          shuffle: true,
          maxStates: few,
          maxStatesPerRecovery: 5,
          wholeMoments: false,
          fewestCrashes: crashes,
          crashes,
        };
        const report = await exploreSubject(subject, options);
        expect(report.operations.length).toBeGreaterThan(20);
        expect(report.states[crashes - 1]).toBeGreaterThanOrEqual(Math.min(few, 50));
      }
    },
  );
});

describe('a planted mistake', () => {
  it.each(planted)('in %s is found: %s', time, async (name, _mistake, mutation) => {
    let applied = 0;
    const subject = subjectOf(name);
    const found = async (crashes: 1 | 2) => {
      const mutants: MutantFileSystem[] = [];
      try {
        await exploreSubject(subject, {
          seed: 2,
          shuffle: true,
          crashes,
          fewestCrashes: crashes,
          kinds: crashes === 1 ? ['power'] : ['kill', 'power'],
          exhaustiveUpTo: 6,
          samples: 8,
          wrap: (disk) => {
            const mutant = new MutantFileSystem(disk, mutation);
            mutants.push(mutant);
            return mutant;
          },
        });
        return false;
      } catch (error) {
        if (error instanceof CrashCounterexampleError) return true;
        throw error;
      } finally {
        applied += mutants.reduce((sum, mutant) => sum + mutant.applied, 0);
      }
    };
    expect((await found(1)) || (await found(2)), 'the mistake was not noticed').toBe(true);
    expect(applied, 'the mistake was never made').toBeGreaterThan(0);
  });
});

import type { MomentCounts } from '@holdfast/durable/testing';
import type { RestoreStrategy } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { crashCases, generatedCase } from './crash-cases.js';
import { crashScenario } from './crash-scenario.js';
import { explored, twiceCrashed } from './explored.js';

/**
 * Different disks after two crashes in a row that generated trees add up to, over both strategies, and a quarter as many
 * after one crash; `HOLDFAST_CRASH_STATES` sets it.
 */
const wanted = Number(process.env['HOLDFAST_CRASH_STATES'] ?? 2_000) / 2;
const firstSeed = Number(process.env['HOLDFAST_SEED'] ?? 1);
const time = { timeout: 24 * 3_600_000 };

/** Crashes a strategy at every instruction, over the named cases and over generated trees. */
export function testCrashes(label: string, strategy: RestoreStrategy): void {
  describe(`a crash at any instruction of ${label}`, () => {
    for (const [name, item] of Object.entries(crashCases)) {
      it(`leaves old or new: ${name}`, time, async () => {
        const report = await explored(crashScenario({ ...item, strategy }), { crashes: 1 });
        expect(report.exhaustive).toBe(true);
        expect(report.states[0]).toBeGreaterThan(80);
      });

      it(`leaves old or new when the recovery crashes too: ${name}`, time, async () => {
        const any = await explored(crashScenario({ ...item, strategy }), {
          ...twiceCrashed,
          maxStates: 400,
          maxStatesPerRecovery: 16,
        });
        expect(any.moments[1]?.cut).toBe(0);
        // Most of what can go wrong is in the change itself: all that a first crash in it can leave.
        const late = { crashes: 2, maxStatesPerRecovery: 32, shuffle: true, wholeMoments: true };
        const report = await explored(
          crashScenario({ ...item, dirty: undefined, strategy, late: true }),
          late,
        );
        expect(report.truncated).toBe(false);
        expect(report.moments).toMatchObject([{ sampled: 0, cut: 0, leftOut: 0 }, { cut: 0 }]);
        expect(report.states[1]).toBeGreaterThan(50);
      });
    }

    it('leaves old or new where a restore takes itself back', time, async () => {
      const item = { ...crashCases['replace, create, delete'], strategy, failVerification: true };
      const once = await explored(crashScenario(item as never), { crashes: 1 });
      expect(once).toMatchObject({ exhaustive: true });
      expect(once.states[0]).toBeGreaterThan(80);
      const limits = { ...twiceCrashed, maxStates: 600, maxStatesPerRecovery: 16 };
      const twice = await explored(crashScenario(item as never), limits);
      expect(twice.moments[1]?.cut).toBe(0);
    });

    it('leaves old or new for generated trees, once and twice crashed', time, async () => {
      const visited = { single: 0, double: 0 };
      const moments = { whole: 0, sampled: 0, cut: 0, leftOut: 0 };
      let seed = firstSeed;
      for (; visited.single < wanted / 4 || visited.double < wanted; seed += 1) {
        const item = { ...generatedCase(seed), strategy };
        try {
          if (visited.single < wanted / 4) {
            const once = await explored(crashScenario(item), { seed, maxStates: 2_500 });
            visited.single += once.states[0] ?? 0;
          }
          if (visited.double >= wanted) continue;
          // Turns between all of a restore and its change alone, which would drown in what comes before it.
          const twice = await explored(crashScenario({ ...item, late: seed % 2 === 0 }), {
            seed,
            ...twiceCrashed,
            maxStates: 4_000,
            maxStatesPerRecovery: 64,
          });
          visited.double += twice.states[1] ?? 0;
          add(moments, twice.moments[1]);
        } catch (error) {
          throw new Error(`trees of HOLDFAST_SEED=${seed}`, { cause: error });
        }
      }
      console.log(
        `${label}: ${visited.single} disks after one crash, ${visited.double} after two, trees of seeds ${firstSeed} to ${seed - 1}; ` +
          `of recoveries ${moments.whole} moments with every combination, ${moments.sampled} sampled, ${moments.leftOut} left out`,
      );
      expect(moments.cut).toBe(0);
      expect(visited.single).toBeGreaterThanOrEqual(wanted / 4);
      expect(visited.double).toBeGreaterThanOrEqual(wanted);
    });
  });
}

function add(sum: Record<keyof MomentCounts, number>, counts: MomentCounts | undefined): void {
  for (const kind of ['whole', 'sampled', 'cut', 'leftOut'] as const) sum[kind] += counts?.[kind] ?? 0;
}

import { exploreCrashes } from '@holdfast/durable/testing';
import { reconcile, swap } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { crashCases, generatedCase } from './support/crash-cases.js';
import { crashScenario } from './support/crash-scenario.js';

/** Disks after two crashes in a row that each case visits at most; `HOLDFAST_CRASH_STATES` raises it. */
const doubleStates = Number(process.env['HOLDFAST_CRASH_STATES'] ?? 200);
const generated = doubleStates > 200 ? 40 : 3;
const firstSeed = Number(process.env['HOLDFAST_SEED'] ?? 1);
const time = { timeout: 3_600_000 };

/** Explores, and tells a campaign how much that was. */
const explored: typeof exploreCrashes = async (scenario, options) => {
  const report = await exploreCrashes(scenario, { seed: firstSeed, ...options });
  countForCampaign('disks after one crash', report.states[0] ?? 0);
  countForCampaign('disks after two crashes', report.states[1] ?? 0);
  return report;
};

const strategies = { reconcile: reconcile(), swap: swap({ fallback: false }) };

for (const [label, strategy] of Object.entries(strategies)) {
  describe(`a crash at any instruction of ${label}`, () => {
    for (const [name, item] of Object.entries(crashCases)) {
      it(`leaves old or new: ${name}`, time, async () => {
        const report = await explored(crashScenario({ ...item, strategy }), { crashes: 1 });
        expect(report.exhaustive).toBe(true);
        expect(report.states[0]).toBeGreaterThan(80);
      });

      it(`leaves old or new when the recovery crashes too: ${name}`, time, async () => {
        const whole = { crashes: 2, maxStates: doubleStates / 2, recoverySamples: 8 };
        await explored(crashScenario({ ...item, strategy }), whole);
        // Most of what can go wrong is in the change itself: all of its moments, whatever the limit.
        const late = {
          crashes: 2,
          maxStates: Math.max(12_000, doubleStates),
          recoverySamples: 4,
          recoveryExhaustiveUpTo: 2,
        };
        const report = await explored(
          crashScenario({ ...item, dirty: undefined, strategy, late: true }),
          late,
        );
        expect(report.truncated).toBe(false);
        expect(report.states[1]).toBeGreaterThan(50);
      });
    }

    it('leaves old or new where a restore takes itself back', time, async () => {
      const item = { ...crashCases['replace, create, delete'], strategy, failVerification: true };
      const report = await explored(crashScenario(item as never), {
        crashes: 2,
        maxStates: doubleStates,
      });
      expect(report.states[0]).toBeGreaterThan(80);
    });

    for (let seed = firstSeed; seed < firstSeed + generated; seed += 1) {
      it(`leaves old or new for the trees of seed ${seed}`, time, async () => {
        const options = { crashes: 2, maxStates: doubleStates, exhaustiveUpTo: 6, samples: 12 };
        await explored(crashScenario({ ...generatedCase(seed), strategy }), options);
      });
    }
  });
}

describe('whole syncs instead of single ones', () => {
  for (const [label, strategy] of Object.entries(strategies)) {
    for (const [name, item] of Object.entries(crashCases)) {
      it(`leave old or new in ${label}: ${name}`, time, async () => {
        const report = await explored(crashScenario({ ...item, strategy, wholeSync: {} }), {
          crashes: 1,
        });
        expect(report.states[0]).toBeGreaterThan(40);
        const late = { ...item, dirty: undefined, strategy, wholeSync: {}, late: true };
        const limits = { crashes: 2, maxStates: doubleStates, recoverySamples: 4, recoveryExhaustiveUpTo: 2 };
        await explored(crashScenario(late), limits);
      });
    }
  }
});

describe('a file system without hard links', () => {
  for (const name of ['replace, create, delete', 'file becomes directory, directory becomes file']) {
    it(`leaves old or new: ${name}`, time, async () => {
      const item = { ...crashCases[name], links: false, strategy: reconcile() };
      const report = await explored(crashScenario(item as never), {
        crashes: 2,
        maxStates: doubleStates,
      });
      expect(report.states[0]).toBeGreaterThan(80);
    });
  }
});

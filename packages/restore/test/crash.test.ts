import { reconcile, swap } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { crashCases } from './support/crash-cases.js';
import { crashScenario } from './support/crash-scenario.js';
import { explored, twiceCrashed } from './support/explored.js';

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

import { exploreCrashes } from '@holdfast/durable/testing';
import { reconcile, swap } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { type CrashCase, crashScenario } from './support/crash-scenario.js';

const cases: Readonly<Record<string, CrashCase>> = {
  'replace, create, delete': {
    old: { a: 'old', gone: 'gone', keep: 'keep' },
    target: { a: 'new', fresh: 'fresh', keep: 'keep' },
  },
  'file becomes directory, directory becomes file': {
    old: { f: 'file', 'd/': null, 'd/x': 'x' },
    target: { 'f/': null, 'f/y': 'y', d: 'now a file' },
  },
  'symlinks come, go and change': {
    old: { l: { link: 'one' }, f: 'file', m: { link: 'gone' } },
    target: { l: { link: 'two' }, f: { link: 'x' }, n: { link: 'new' } },
  },
  'directories come and go': {
    old: { 'gone/': null, 'gone/deep/': null, 'gone/deep/x': 'x' },
    target: { 'fresh/': null, 'fresh/deep/': null, 'fresh/deep/y': 'y' },
  },
  modes: {
    old: { a: 'a', 'd/': null, 'd/x': 'old' },
    target: { a: 'a', 'd/': null, 'd/x': 'new' },
    modes: { old: { a: 0o600, d: 0o500 }, target: { a: 0o755, d: 0o555 } },
  },
  'kept but not yet durable': {
    old: { a: 'old' },
    target: { a: 'new', young: 'young' },
    dirty: { young: 'young' },
  },
};

describe('crashes of a reconciling restore', () => {
  for (const [name, item] of Object.entries(cases)) {
    it(name, async () => {
      const report = await exploreCrashes(crashScenario({ strategy: reconcile(), ...item }), { crashes: 2 });
      console.log(name, report.operations.length, report.states, report.exhaustive);
      expect(report.states[0]).toBeGreaterThan(50);
    });
  }
});

describe('crashes of a swapping restore', () => {
  for (const [name, item] of Object.entries(cases)) {
    it(name, async () => {
      const report = await exploreCrashes(crashScenario({ strategy: swap({ fallback: false }), ...item }), {
        crashes: 1,
      });
      console.log(name, report.operations.length, report.states, report.exhaustive);
      expect(report.states[0]).toBeGreaterThan(50);
    });
  }
});

import { readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, test } from 'vitest';

import { repositoryRoot } from '../shared/workspace.mjs';
import {
  type EngineCost,
  fleets,
  generator,
  lostInOutage,
  queue,
  type SessionCost,
  simulate,
  table,
} from './simulate.mjs';

const times = { p50: 1, p95: 2 };
const engine: EngineCost = {
  appendMs: times,
  appendsPerSecond: 1_000,
  renewMs: times,
  acquireAndReleaseMs: times,
  read100Ms: times,
};
const session: SessionCost = {
  appendsPerTurn: 6,
  journalBytesPerTurn: 4_000,
  putsPerTurn: 3,
  blobBytesPerTurn: 20_000,
};
const fleet = { hosts: 100, sessionsPerHost: 4, secondsPerTurn: 30, ttlSeconds: 15 };

describe('the queue', () => {
  const at = (arrivalsPerSecond: number): number[] =>
    queue({ arrivalsPerSecond, engine, requests: 20_000, random: generator(7) });
  const quantile = (values: readonly number[], part: number): number =>
    values[Math.floor(values.length * part)] as number;

  test('an engine with nothing to do answers as fast as it was measured', () => {
    expect(quantile(at(1), 0.5)).toBeGreaterThan(0.8);
    expect(quantile(at(1), 0.5)).toBeLessThan(1.2);
    expect(quantile(at(1), 0.99)).toBeLessThan(1.6);
  });

  test('it gets slower with its load, and endless above what it can do', () => {
    const loads = [100, 500, 900, 1_100].map((rate) => quantile(at(rate), 0.99));
    expect(loads).toEqual(loads.toSorted((a, b) => a - b));
    expect(loads[3]).toBeGreaterThan(500);
  });
});

describe('a fleet', () => {
  test('asks for its appends and its renewals', () => {
    // 400 sessions: 80 appends a second, and a renewal each five seconds.
    expect(simulate(fleet, engine, session).requestsPerSecond).toBeCloseTo(80 + 80, 6);
  });

  test('gets as many engines as keep each at half of what it can do', () => {
    expect(simulate(fleet, engine, session).enginesNeeded).toBe(1);
    expect(simulate({ ...fleet, hosts: 10_000 }, engine, session).enginesNeeded).toBe(32);
  });

  test('gives the same numbers again', () => {
    expect(simulate(fleet, engine, session)).toEqual(simulate(fleet, engine, session));
    expect(simulate(fleet, engine, session, 2)).not.toEqual(simulate(fleet, engine, session, 1));
  });
});

describe('an engine that is away', () => {
  const lost = (ttlSeconds: number, outageSeconds: number): number =>
    lostInOutage({ ttlSeconds, outageSeconds, sessions: 1_000, random: generator(3) });

  test('nobody loses a lease when it is away for less than a third of the time to live, all when for more than two', () => {
    expect(lost(30, 7)).toBe(0);
    expect(lost(15, 10.1)).toBe(1_000);
    expect(lost(60, 10)).toBe(0);
  });
});

describe('the guide', () => {
  const page = readFileSync(path.join(repositoryRoot, 'docs/guides/scale.md'), 'utf8');
  const measured = JSON.parse(readFileSync(new URL('measurements.json', import.meta.url), 'utf8')) as {
    session: SessionCost;
    engines: Record<string, EngineCost>;
  };

  test('has the table that comes out of the measurements', () => {
    expect(fleets.map(({ hosts }) => hosts)).toEqual([1, 100, 10_000]);
    for (const row of table(measured)) expect(page.replaceAll(/ +/g, ' ')).toContain(row);
  });

  test('has the measurements', () => {
    for (const [name, cost] of Object.entries(measured.engines)) {
      const row = page.split('\n').find((line) => line.startsWith(`| ${name} | ${cost.appendMs.p50}`));
      expect(row?.replaceAll(/ +/g, ' '), name).toBe(
        `| ${name} | ${cost.appendMs.p50} / ${cost.appendMs.p95} | ${cost.appendsPerSecond} | ${cost.renewMs.p50} / ${cost.renewMs.p95} | ${cost.acquireAndReleaseMs.p50} / ${cost.acquireAndReleaseMs.p95} | ${cost.read100Ms.p50} |`,
      );
    }
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenLocal, runCommand } from '@holdfast/cli';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fakeIo } from './fake-io.js';

const neverOpened: OpenLocal = () => {
  throw new Error('the stack was opened');
};

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-verify-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function verify(source: string, ...options: string[]) {
  const file = join(directory, `module-${String(process.hrtime.bigint())}.mjs`);
  writeFileSync(file, source);
  const io = fakeIo({ cwd: directory });
  const status = await runCommand(['verify-backend', file, ...options], {
    io,
    openLocal: neverOpened,
    version: '1',
  });
  return { status, out: io.out(), err: io.err() };
}

const packageUrl = (name: string): string => JSON.stringify(import.meta.resolve(name));

describe('verify-backend', () => {
  it('passes a driver that keeps the contract', async () => {
    const { status, out, err } = await verify(
      `import { memoryLeaserHarness } from ${packageUrl('@holdfast/lease/testing')};
       export const leaser = () => memoryLeaserHarness();`,
    );
    expect(err).toBe('');
    expect(out).toMatch(/contract: lease\/1, cases \d+, advisory \d+: all passed/);
    expect(status).toBe(0);
  });

  it('fails a driver that breaks it, and says what to fix', async () => {
    const { status, out } = await verify(
      `import { memoryLeaserHarness } from ${packageUrl('@holdfast/lease/testing')};
       import { Leaser } from ${packageUrl('@holdfast/lease')};
       export const leaser = () => {
         const harness = memoryLeaserHarness();
         return { ...harness, adapter: 'stuck', fresh: async () => {
           const inner = await harness.fresh();
           const acquire = inner.acquire.bind(inner);
           inner.acquire = async (name, options) => {
             const lease = await acquire(name, options);
             Object.defineProperty(lease, 'epoch', { value: 7 });
             return lease;
           };
           return inner;
         } };
       };`,
      '--json',
    );
    expect(status).toBe(1);
    const report = JSON.parse(out) as {
      ok: boolean;
      reports: { cases: { outcome: string; failure?: { detail: string } }[] }[];
    };
    expect(report.ok).toBe(false);
    const failed = report.reports[0]?.cases.filter((result) => result.outcome === 'failed') ?? [];
    expect(failed.length).toBeGreaterThan(0);
    expect(failed[0]?.failure?.detail).toMatch(/\w/);
  });

  it.each([
    ['export const nothing = 1;', 'nothing-offered'],
    ['export const blobs = 7;', 'bad-export'],
    ['throw new Error("broken on load");', 'not-loadable'],
  ])('refuses a module that offers nothing to verify: %s', async (source, kind) => {
    const { status, out, err } = await verify(source, '--json');
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'CLI_BACKEND_MODULE', kind } });
  });
});

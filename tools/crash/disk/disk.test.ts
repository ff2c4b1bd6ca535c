import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { run } from '../../shared/process.mjs';
import { repositoryRoot } from '../../shared/workspace.mjs';
import { obstacle } from './loop-disk.mjs';

const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-disk-test-'));
afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

let reason: string | undefined;
beforeAll(async () => {
  reason = await obstacle(scratch, 'ext4');
});

async function campaign(environment: Record<string, string>, ...args: string[]) {
  const program = path.join(repositoryRoot, 'tools/crash/disk/campaign.mjs');
  return await run(process.execPath, [program, '--type', 'ext4', ...args], {
    env: { ...process.env, ...environment },
  });
}

describe('a session in a level database', () => {
  it('has lost nothing acknowledged when its process is killed in the middle of appends', async () => {
    const program = path.join(repositoryRoot, 'tools/crash/disk/level-step.mjs');
    for (const acks of [1, 7, 23]) {
      const place = path.join(scratch, `level-${acks}`);
      const ended = await run(process.execPath, [program, 'run', place, `${place}.facts`, String(acks)]);
      expect(ended.signal, ended.output).toBe('SIGKILL');
      const checked = await run(process.execPath, [program, 'check', place, `${place}.facts`]);
      expect(checked.output).toMatch(new RegExp(`^${acks}$`, 'm'));
      // The check can fail: it misses what was never appended.
      appendFileSync(`${place}.facts`, '["never",999]\n');
      const missed = await run(process.execPath, [program, 'check', place, `${place}.facts`]);
      expect(missed.output).toContain('event never');
    }
  });
});

describe('a disk that is taken away', () => {
  it('loses nothing that was promised, and everything without syncs', { timeout: 300_000 }, async () => {
    const whole = await campaign({}, '--points', '2', '--subject', 'ledger append');
    if (reason !== undefined) {
      // Where disks cannot be had, the campaign must say so and must not count as one.
      expect(whole.output).toMatch(/^left out: crash points on ext4: /m);
      expect(whole.output).toMatch(/^0 passed, 0 failed$/m);
      return;
    }
    expect(whole.output).toMatch(/^ext4: 2 points, seed 1, 0 failed/m);
    expect(whole.code).toBe(0);
    const planted = await campaign(
      { HOLDFAST_PLANTED: 'no-syncs' },
      '--points',
      '3',
      '--subject',
      'ledger append',
    );
    expect(planted.output).toMatch(/ext4, ledger append, seed 1, disk taken away before change \d+ of \d+/);
    expect(planted.code).toBe(1);
  });
});

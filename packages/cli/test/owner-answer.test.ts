import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

import { ManualClock } from '@holdfast/base/testing';
import { processIdentity } from '@holdfast/lease/fs';
import { describe, expect, it } from 'vitest';

import { SessionLiveError } from '../src/errors.js';
import {
  answerWithinMs,
  lookEveryMs,
  type OwnerState,
  ownerAnswer,
  ownerState,
} from '../src/owner-answer.js';

/** An owner that does not answer: stopped, busy, or out of sight. */

const never = new AbortController().signal;

/** Asks an owner that answers only by `answers`, and is seen as `states` say, the last one for good. */
function asking(...states: readonly OwnerState[]) {
  const clock = new ManualClock();
  const left = [...states];
  let answer: (text: string) => void = () => undefined;
  const looks: number[] = [];
  const result = ownerAnswer(
    (signal) =>
      new Promise<string>((resolve, reject) => {
        answer = resolve;
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
    () => {
      looks.push(clock.monotonic());
      return left.length > 1 ? (left.shift() as OwnerState) : (left[0] as OwnerState);
    },
    (state) => new Error(`late and ${state}`),
    { clock, signal: never },
  );
  const outcome = result.catch((error: unknown) => (error as Error).message);
  return { clock, outcome, looks, answer: (text: string) => answer(text) };
}

describe('the answer of an owner', () => {
  it('is not waited for when its process is stopped', async () => {
    const { clock, outcome, looks } = asking('stopped');
    await clock.advance(lookEveryMs);
    expect(await outcome).toBe('late and stopped');
    expect(looks).toHaveLength(1);
  });

  it('may take thirty seconds while it runs, or cannot be seen', async () => {
    for (const state of ['running', 'unknown'] as const) {
      const { clock, outcome, looks } = asking(state);
      for (let passed = 0; passed < answerWithinMs; passed += lookEveryMs) await clock.advance(lookEveryMs);
      expect(await outcome).toBe(`late and ${state}`);
      expect(looks).toHaveLength(answerWithinMs / lookEveryMs);
    }
  });

  it('counts when it comes late, and nobody looks any more', async () => {
    const { clock, outcome, looks, answer } = asking('running');
    for (let look = 0; look < 3; look += 1) await clock.advance(lookEveryMs);
    answer('here');
    expect(await outcome).toBe('here');
    await clock.advance(answerWithinMs);
    expect(looks).toHaveLength(3);
  });

  it('is given up when it is stopped while it is waited for', async () => {
    const { clock, outcome } = asking('running', 'running', 'stopped');
    for (let look = 0; look < 3; look += 1) await clock.advance(lookEveryMs);
    expect(await outcome).toBe('late and stopped');
  });
});

describe('what is seen of an owner', () => {
  it('is that it runs, or nothing: not another process of that number, nor one of another machine', () => {
    const self = processIdentity();
    const seen = process.platform === 'linux' ? 'running' : 'unknown';
    expect(ownerState(self)).toBe(seen);
    expect(ownerState({ ...self, startTime: '1' })).toBe('unknown');
    expect(ownerState({ ...self, bootId: 'another' })).toBe('unknown');
    expect(ownerState({})).toBe('unknown');
  });

  it.runIf(process.platform === 'linux')('is that it is stopped', async () => {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    try {
      const pid = child.pid as number;
      // Fields after the command: the twentieth is the time of its start.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] as string;
      const identity = { ...processIdentity(), pid, startTime };
      expect(ownerState(identity)).toBe('running');
      child.kill('SIGSTOP');
      await expect.poll(() => ownerState(identity)).toBe('stopped');
      child.kill('SIGCONT');
      await expect.poll(() => ownerState(identity)).toBe('running');
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('decides what a person is told to do', () => {
    const owner = { pid: 4711 };
    expect(new SessionLiveError('s', 'busy', owner).message).toMatch(/process 4711.* do not end it/);
    expect(new SessionLiveError('s', 'silent', owner).message).toMatch(/process 4711.*is stopped.* end it/);
  });
});

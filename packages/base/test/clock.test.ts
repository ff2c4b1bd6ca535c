import { systemClock } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.useRealTimers();
});

describe('systemClock', () => {
  test('gives wall time as the platform does and monotonic time that does not run backwards', () => {
    const before = Date.now();
    const now = systemClock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
    const first = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(first);
  });

  test('sleeps, at once for zero', async () => {
    await systemClock.sleep(0);
  });

  test('rejects a sleep with the reason itself, before and during', async () => {
    const reason = { stop: true };
    await expect(systemClock.sleep(60_000, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const sleeping = systemClock.sleep(60_000, { signal: controller.signal });
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
  });

  test('frees the timer of an aborted sleep and of a disposed schedule', async () => {
    vi.useFakeTimers();
    const controller = new AbortController();
    const sleeping = systemClock.sleep(60_000, { signal: controller.signal });
    const scheduled = systemClock.schedule(60_000, () => undefined);
    expect(vi.getTimerCount()).toBe(2);
    controller.abort('stop');
    await expect(sleeping).rejects.toBe('stop');
    scheduled[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('stops listening to the signal after a sleep', async () => {
    const controller = new AbortController();
    await systemClock.sleep(0, { signal: controller.signal });
    controller.abort(new Error('late and harmless'));
  });

  test('fires a schedule once and not after its disposal', async () => {
    let fired = 0;
    await new Promise<void>((resolve) => {
      const cancelled = systemClock.schedule(0, () => {
        fired += 100;
      });
      cancelled[Symbol.dispose]();
      systemClock.schedule(1, () => {
        fired += 1;
        resolve();
      });
    });
    expect(fired).toBe(1);
  });

  test('is frozen', () => {
    expect(Object.isFrozen(systemClock)).toBe(true);
  });
});

describe('ManualClock', () => {
  test('stands still until it is advanced', async () => {
    const clock = new ManualClock(1_000);
    expect([clock.now(), clock.monotonic()]).toEqual([1_000, 0]);
    await clock.advance(250);
    expect([clock.now(), clock.monotonic()]).toEqual([1_250, 250]);
    clock.jumpWall(-500);
    expect([clock.now(), clock.monotonic()]).toEqual([750, 250]);
  });

  test('fires in order of due time, then of registration, at their own times', async () => {
    const clock = new ManualClock(0);
    const fired: [string, number][] = [];
    const note = (name: string) => () => {
      fired.push([name, clock.monotonic()]);
    };
    clock.schedule(20, note('late'));
    clock.schedule(10, note('first'));
    clock.schedule(10, note('second'));
    clock.schedule(31, note('never'));
    expect(clock.pending).toBe(4);
    await clock.advance(30);
    expect(fired).toEqual([
      ['first', 10],
      ['second', 10],
      ['late', 20],
    ]);
    expect(clock.pending).toBe(1);
    expect(clock.monotonic()).toBe(30);
  });

  test('fires what a callback or a woken sleeper schedules inside the same span', async () => {
    const clock = new ManualClock(0);
    const fired: number[] = [];
    const sleeper = (async () => {
      for (let round = 0; round < 3; round += 1) {
        await clock.sleep(10);
        fired.push(clock.monotonic());
      }
    })();
    await clock.advance(30);
    await sleeper;
    expect(fired).toEqual([10, 20, 30]);
  });

  test('treats negative delays as due now', async () => {
    const clock = new ManualClock(0);
    let fired = false;
    clock.schedule(-5, () => {
      fired = true;
    });
    await clock.advance(0);
    expect(fired).toBe(true);
    expect(clock.monotonic()).toBe(0);
  });

  test('does not fire what was disposed', async () => {
    const clock = new ManualClock(0);
    const timer = clock.schedule(1, () => {
      throw new Error('disposed');
    });
    timer[Symbol.dispose]();
    timer[Symbol.dispose]();
    await clock.advance(10);
    expect(clock.pending).toBe(0);
  });

  test('rejects an aborted sleep with the reason and forgets its timer', async () => {
    const clock = new ManualClock(0);
    const reason = new Error('stop');
    await expect(clock.sleep(5, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const sleeping = clock.sleep(5, { signal: controller.signal });
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    expect(clock.pending).toBe(0);
  });
});

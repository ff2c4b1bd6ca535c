import { Hints } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { expect, test } from 'vitest';

async function stateOf(promise: Promise<unknown>): Promise<'waiting' | 'done'> {
  let state: 'waiting' | 'done' = 'waiting';
  promise.then(
    () => {
      state = 'done';
    },
    () => undefined,
  );
  for (let round = 0; round < 8; round += 1) await Promise.resolve();
  return state;
}

test('a wait ends with news of its name, and of no other', async () => {
  const clock = new ManualClock();
  const hints = new Hints(clock);
  using wait = hints.listen('a');
  const until = wait.until(1_000, undefined);
  hints.tell('b');
  expect(await stateOf(until)).toBe('waiting');
  hints.tell('a');
  await until;
  expect(clock.pending).toBe(0);
});

test('news between the listening and the wait are not missed', async () => {
  const hints = new Hints(new ManualClock());
  using wait = hints.listen('a');
  hints.tell('a');
  await wait.until(1_000, undefined);
});

test('news without a name wake everybody, and news of the past nobody', async () => {
  const hints = new Hints(new ManualClock());
  hints.tell('a');
  using first = hints.listen('a');
  using second = hints.listen('b');
  const both = Promise.all([first.until(1_000, undefined), second.until(1_000, undefined)]);
  expect(await stateOf(both)).toBe('waiting');
  hints.tell();
  await both;
});

test('without news a wait ends after its time', async () => {
  const clock = new ManualClock();
  const hints = new Hints(clock);
  using wait = hints.listen('a');
  const until = wait.until(1_000, undefined);
  await clock.advance(999);
  expect(await stateOf(until)).toBe('waiting');
  await clock.advance(1);
  await until;
});

test('an abort rejects with its own reason and leaves no timer', async () => {
  const clock = new ManualClock();
  const hints = new Hints(clock);
  using wait = hints.listen('a');
  const controller = new AbortController();
  const until = wait.until(1_000, controller.signal);
  const reason = { any: 'reason' };
  controller.abort(reason);
  await expect(until).rejects.toBe(reason);
  expect(clock.pending).toBe(0);
  await expect(wait.until(1_000, controller.signal)).rejects.toBe(reason);
});

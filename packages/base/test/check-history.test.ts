import {
  checkHistory,
  type HistoryCall,
  HistoryRecorder,
  type SequentialModel,
} from '@holdfast/base/testing';
import { describe, expect, it } from 'vitest';

type Input = { readonly write: number } | 'read';
type Call = HistoryCall<Input, number>;

/** A register: a write answers 0, a read answers what was written last. */
const register: SequentialModel<number, Input, number> = {
  initial: 0,
  step: (state, input, output) => {
    if (input !== 'read') return input.write;
    return output === undefined || output === state ? state : undefined;
  },
};

function call(client: string, input: Input, called: number, returned?: number, output: number = 0): Call {
  return { client, input, called, returned, output: returned === undefined ? undefined : output };
}

describe('a history', () => {
  it.each<readonly [string, boolean, readonly Call[]]>([
    ['of nothing', true, []],
    ['one after the other', true, [call('a', { write: 1 }, 1, 2), call('b', 'read', 3, 4, 1)]],
    ['of a read that is stale', false, [call('a', { write: 1 }, 1, 2), call('b', 'read', 3, 4, 0)]],
    [
      'of a read beside a write, before it',
      true,
      [call('a', { write: 1 }, 1, 4), call('b', 'read', 2, 3, 0)],
    ],
    ['of a read beside a write, after it', true, [call('a', { write: 1 }, 1, 4), call('b', 'read', 2, 3, 1)]],
    [
      'of reads that see new and then old',
      false,
      [call('a', { write: 1 }, 1, 8), call('b', 'read', 2, 3, 1), call('c', 'read', 4, 5, 0)],
    ],
    ['of a lost reply that took effect', true, [call('a', { write: 1 }, 1), call('b', 'read', 2, 3, 1)]],
    ['of a lost reply that did not', true, [call('a', { write: 1 }, 1), call('b', 'read', 2, 3, 0)]],
    [
      'of a lost reply that takes effect late',
      true,
      [call('a', { write: 1 }, 1), call('b', 'read', 2, 3, 0), call('b', 'read', 4, 5, 1)],
    ],
    [
      'of a lost reply that takes effect and is gone again',
      false,
      [call('a', { write: 1 }, 1), call('b', 'read', 2, 3, 1), call('b', 'read', 4, 5, 0)],
    ],
    [
      'of a read before the lost write began',
      false,
      [call('b', 'read', 1, 2, 1), call('a', { write: 1 }, 3)],
    ],
  ])('%s: %s', (_, wanted, calls) => {
    const verdict = checkHistory(register, calls);
    expect(verdict.linearizable).toBe(wanted);
    const finished = calls.filter(({ returned }) => returned !== undefined);
    const explained = verdict.order.filter(({ returned }) => returned !== undefined);
    expect(explained.length + verdict.unexplained.length).toBe(finished.length);
    expect(verdict.unexplained.length === 0).toBe(wanted);
  });

  it('of thirty calls that overlap is decided, because no state is looked at twice', () => {
    const calls = Array.from({ length: 15 }, (_, at) => [
      call('w', { write: at % 2 }, 2 * at + 1, 2 * at + 8),
      call('r', 'read', 2 * at + 2, 2 * at + 9, at % 2),
    ]).flat();
    expect(checkHistory(register, calls).linearizable).toBe(true);
    expect(checkHistory(register, [...calls, call('r', 'read', 90, 91, 7)]).unexplained).toHaveLength(1);
  });

  it('is recorded with one counter; what has no answer has no end', async () => {
    const recorder = new HistoryRecorder<Input, number>();
    let finish: (value: number) => void = () => undefined;
    const slow = recorder.record(
      'a',
      { write: 1 },
      async () => await new Promise<number>((resolve) => (finish = resolve)),
    );
    await recorder.record('b', 'read', async () => await Promise.resolve(1));
    expect(await recorder.record('c', 'read', async () => await Promise.resolve(undefined))).toBeUndefined();
    finish(0);
    await slow;
    expect(recorder.calls.map(({ client, called, returned }) => [client, called, returned])).toEqual([
      ['a', 1, 5],
      ['b', 2, 3],
      ['c', 4, undefined],
    ]);
    expect(checkHistory(register, recorder.calls).linearizable).toBe(true);
  });
});

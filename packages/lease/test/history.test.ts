import { describe, expect, it } from 'vitest';

import { HistoryChecker, type HistoryEvent } from './history.js';

const enter = (pid: number, epoch: number, name = 'a'): HistoryEvent => ({ type: 'enter', name, epoch, pid });
const work = (pid: number, epoch: number): HistoryEvent => ({ type: 'work', name: 'a', epoch, pid });
const exit = (pid: number, epoch: number): HistoryEvent => ({ type: 'exit', name: 'a', epoch, pid });

function violations(...events: readonly HistoryEvent[]): readonly string[] {
  const checker = new HistoryChecker();
  for (const event of events) checker.add(event);
  return checker.violations;
}

describe('the log of contenders', () => {
  it.each<readonly [string, readonly HistoryEvent[]]>([
    ['of one after the other', [enter(1, 1), work(1, 1), exit(1, 1), enter(2, 2), work(2, 2)]],
    ['of one who follows a killed one', [enter(1, 1), { type: 'killing', pid: 1 }, enter(2, 3)]],
    ['of two names', [enter(1, 1), enter(2, 1, 'b')]],
  ])('%s is fine', (_, events) => {
    expect(violations(...events)).toEqual([]);
  });

  it.each<readonly [string, RegExp, readonly HistoryEvent[]]>([
    ['enters while another one is inside', /inside and alive/, [enter(1, 1), enter(2, 2)]],
    ['is granted an epoch again', /not above 1/, [enter(1, 1), exit(1, 1), enter(2, 1)]],
    ['is granted a lower epoch', /not above 5/, [enter(1, 5), exit(1, 5), enter(2, 4)]],
    [
      'works after another one has entered',
      /acted, but inside/,
      [enter(1, 1), exit(1, 1), enter(2, 2), work(1, 1)],
    ],
    ['works under an epoch that is not its own', /acted, but inside/, [enter(1, 2), work(1, 1)]],
    [
      'loses its lease while it lives',
      /lost its lease/,
      [enter(1, 1), { type: 'lost', name: 'a', epoch: 1, pid: 1 }],
    ],
  ])('in which somebody %s is not', (_, wanted, events) => {
    expect(violations(...events)[0]).toMatch(wanted);
  });
});

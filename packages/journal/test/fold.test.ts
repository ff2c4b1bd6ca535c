import { effectiveRanges, emptyFold, type FoldInput, foldRecord, type SessionFold } from '@holdfast/journal';
import { describe, expect, it } from 'vitest';

import { checkpointBody, refOf } from './support/world.js';

let next = 0;
function folded(steps: readonly Partial<FoldInput>[]): SessionFold {
  let fold = emptyFold;
  next = 0;
  for (const step of steps) {
    next += 1;
    const record: FoldInput = {
      seq: next,
      kind: 'event',
      id: `id-${next}`,
      epoch: 1,
      time: 1_000 + next,
      type: undefined,
      body: {},
      ...step,
    };
    fold = foldRecord(fold, record);
  }
  return fold;
}

const checkpoint = (ref: string): Partial<FoldInput> => ({
  type: 'WorkspaceCheckpointed',
  body: checkpointBody(ref),
});
const restored = (ref: string, id: string): Partial<FoldInput> => ({
  type: 'WorkspaceRestored',
  id,
  body: { ref },
});
const priv = (type: string, body: object): Partial<FoldInput> => ({
  kind: 'private',
  type,
  body: body as never,
});

describe('the fold', () => {
  it('checkpoint A, checkpoint B, restore A: last is B, current is A', () => {
    const fold = folded([checkpoint(refOf(1)), checkpoint(refOf(2)), restored(refOf(1), 'r')]);
    expect(fold.lastCheckpoint).toMatchObject({
      ref: refOf(2),
      eventId: 'id-2',
      seq: 2,
      consistency: 'quiescent',
    });
    expect(fold.currentWorkspace).toEqual({ ref: refOf(1), eventId: 'r', seq: 3, source: 'restore' });
    expect(fold.lastRestore).toEqual({ restoreId: 'r', ref: refOf(1), seq: 3, prepared: undefined });
    expect([fold.checkpoints, fold.events, fold.createdAt, fold.lastActive]).toEqual([2, 3, 1_001, 1_003]);
  });

  it('a restore is open from its beginning to one of its two ends', () => {
    const started = priv('restore-started', {
      restoreId: 'r',
      ref: refOf(1),
      previousRef: null,
      strategy: 'swap',
    });
    const open = folded([started, priv('restore-prepared', { restoreId: 'r', exact: true })]);
    expect(open.openRestore).toMatchObject({ restoreId: 'r', seq: 1, epoch: 1, prepared: { exact: true } });
    const done = folded([
      started,
      priv('restore-prepared', { restoreId: 'r', exact: true }),
      restored(refOf(1), 'r'),
    ]);
    expect(done.openRestore).toBeUndefined();
    expect(done.lastRestore?.prepared).toEqual({ restoreId: 'r', exact: true });
    const aborted = folded([started, priv('restore-aborted', { restoreId: 'r' })]);
    expect([aborted.openRestore, aborted.currentWorkspace]).toEqual([undefined, undefined]);
    const others = folded([started, priv('restore-aborted', { restoreId: 'x' }), restored(refOf(1), 'y')]);
    expect(others.openRestore?.restoreId).toBe('r');
  });

  it('knows state, title, placement, turns and fences', () => {
    const placement = { mode: 'shared', root: '/w' } as const;
    const fold = folded([
      { kind: 'fence', epoch: 7 },
      priv('title', { title: 'a' }),
      { type: 'SessionStarted', body: { placement } },
      { type: 'SessionActive', body: {} },
      { type: 'TurnStarted', body: { turn: 't1', loop: 'l' } },
      { type: 'TurnStarted', body: { turn: 't2', loop: 'l' } },
      { type: 'TurnDone', body: { turn: 't1', loop: 'l' } },
      priv('title', { title: 'b' }),
    ]);
    expect(fold).toMatchObject({ title: 'b', state: 'active', placement, fenceEpoch: 7, seq: 8 });
    expect(fold.openTurns).toEqual([{ turn: 't2', loop: 'l', seq: 6 }]);
    expect(
      folded([
        { type: 'SessionStarted', body: {} },
        { type: 'SessionStopped', body: {} },
      ]).state,
    ).toBe('stopped');
    expect(folded([{ type: 'SessionRestored', body: {} }]).state).toBe('idle');
    expect(
      folded([
        { type: 'SessionActive', body: {} },
        { type: 'SessionIdle', body: {} },
      ]).state,
    ).toBe('idle');
  });

  it('is a JSON value, and unknown events leave it alone', () => {
    const fold = folded([
      checkpoint(refOf(1)),
      { type: 'ThingOfTheFuture', body: 5 },
      { type: 'note', body: null },
    ]);
    expect(JSON.parse(JSON.stringify(fold))).toEqual(JSON.parse(JSON.stringify({ ...fold })));
    expect(fold.events).toBe(3);
  });
});

describe('the effective conversation', () => {
  const rewound = (seq: number): Partial<FoldInput> => ({
    type: 'ConversationRewound',
    body: { to: 'x', seq },
  });
  const note = { type: 'note', body: 1 };

  it('is everything without a rewind, and nothing of nothing', () => {
    expect(effectiveRanges(folded([note, note, note]))).toEqual([{ from: 1, to: 3 }]);
    expect(effectiveRanges(emptyFold)).toEqual([]);
  });

  it('leaves out what a rewind took back', () => {
    expect(effectiveRanges(folded([note, note, note, rewound(1), note, note]))).toEqual([
      { from: 1, to: 1 },
      { from: 5, to: 6 },
    ]);
    expect(effectiveRanges(folded([note, note, rewound(0), note]))).toEqual([{ from: 4, to: 4 }]);
  });

  it('brings back by another rewind what the first one took out', () => {
    // 1 2 3, rewind to 1, 5, rewind to 3 (undo), 7.
    const undone = folded([note, note, note, rewound(1), note, rewound(3), note]);
    expect(effectiveRanges(undone)).toEqual([
      { from: 1, to: 3 },
      { from: 7, to: 7 },
    ]);
    // And to 5, whose past is 1 alone.
    const other = folded([note, note, note, rewound(1), note, rewound(3), note, rewound(5)]);
    expect(effectiveRanges(other)).toEqual([
      { from: 1, to: 1 },
      { from: 5, to: 5 },
    ]);
    expect(effectiveRanges(other, 3)).toEqual([{ from: 1, to: 3 }]);
  });
});

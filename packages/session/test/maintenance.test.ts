import { defineLoop, type SessionNotice } from '@holdfast/session';
import { describe, expect, it } from 'vitest';

import { barrier, Kit, settle } from './support/kit.js';

const loop = defineLoop({ name: 'agent', turn: async ({ input }) => await Promise.resolve(input) });

/** Watches what a session says and what it asks of its store. */
function watch(kit: Kit) {
  const notices: SessionNotice[] = [];
  kit.controller.observe((notice) => notices.push(notice));
  const calls: { readonly options: Parameters<typeof kit.store.maintain>[0]; readonly idle: boolean }[] = [];
  const real = kit.store.maintain.bind(kit.store);
  const hook: { before: ((signal: AbortSignal) => Promise<void>) | undefined } = { before: undefined };
  kit.store.maintain = async (options) => {
    calls.push({ options, idle: kit.controller.state().phase === 'idle' });
    await hook.before?.(options?.signal as AbortSignal);
    return await real(options);
  };
  const finished = (type: SessionNotice['type']): SessionNotice[] =>
    notices.filter((notice) => notice.type === type);
  return { calls, hook, finished };
}

async function checkpoint(kit: Kit, count: number): Promise<void> {
  for (let step = 0; step < count; step += 1) {
    kit.write('a.txt', `content ${step} of ${count}`);
    await kit.controller.checkpointWorkspace();
  }
  await settle();
}

describe('an idle session', () => {
  it('tidies what its checkpoints left, once for every eight', async () => {
    const kit = await Kit.open();
    const { calls, finished } = watch(kit);
    await checkpoint(kit, 7);
    expect(calls).toEqual([]);
    await checkpoint(kit, 1);
    expect(calls).toMatchObject([{ options: { roots: [kit.root], maxMerges: 4 }, idle: true }]);
    await kit.controller.shutdown();
    expect(finished('maintenance-finished')).toMatchObject([{ merged: 1, rebased: 0 }]);
  });

  it('takes note of checkpoints in turns, and waits with it until they are over', async () => {
    const kit = await Kit.open({
      loops: [loop],
      policy: { trigger: 'turn-done', priority: 'required' },
    });
    const { calls } = watch(kit);
    for (let step = 0; step < 9; step += 1) {
      kit.write('a.txt', `turn ${step}`);
      await (await kit.controller.submit('go')).outcome;
      await settle();
    }
    expect(calls.length).toBeGreaterThanOrEqual(1);
    expect(calls.every(({ idle }) => idle)).toBe(true);
  });

  it('gives way to a turn and to the end, and looks again later', async () => {
    const kit = await Kit.open({ loops: [loop] });
    const { calls, hook, finished } = watch(kit);
    const entered = barrier();
    hook.before = async (signal) => {
      entered.wait().catch(() => undefined);
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      });
    };
    await checkpoint(kit, 8);
    await entered.reached;
    await (await kit.controller.submit('go')).outcome;
    await settle();
    // The end of the turn began it again.
    expect(calls).toHaveLength(2);
    expect(calls[0]?.options?.signal?.aborted).toBe(true);
    expect(calls[1]?.options?.signal?.aborted).toBe(false);
    await kit.controller.shutdown();
    expect(calls[1]?.options?.signal?.aborted).toBe(true);
    expect(finished('maintenance-failed')).toEqual([]);
  });

  it('says when it fails, and goes on', async () => {
    const kit = await Kit.open();
    const { calls, hook, finished } = watch(kit);
    hook.before = () => Promise.reject(new Error('the store is busy'));
    await checkpoint(kit, 8);
    expect(finished('maintenance-failed')).toMatchObject([{ error: { message: 'the store is busy' } }]);
    hook.before = undefined;
    await checkpoint(kit, 1);
    expect(calls).toHaveLength(2);
    expect(finished('maintenance-finished')).toHaveLength(1);
    expect(kit.controller.state().fault).toBeUndefined();
  });
});

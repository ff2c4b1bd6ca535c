import { isHoldfastError } from '@holdfast/base';
import { WorkspaceRestoreError } from '@holdfast/restore';
import { defineLoop } from '@holdfast/session';
import { describe, expect, it } from 'vitest';

import { listTree } from '../../../tools/oracle/oracle.mjs';
import { Kit, settle } from './support/kit.js';

/**
 * The loss of a lease at every point of a life: at each notice that a session publishes (each step of each checkpoint and
 * restore, each change of phase; not those of progress, which come by time, so that lives would differ), before each snapshot, in each step of a turn, and after each append. Then nothing more
 * is written, the session is faulted, and the tree is whole.
 */

interface Life {
  readonly kit: Kit;
  /** Names of the points that were passed; the lease was lost at the last one, unless the life came to its end. */
  readonly points: readonly string[];
  readonly lost: boolean;
  readonly failures: readonly unknown[];
  readonly appendsAfterLoss: readonly (readonly string[])[];
  /** Every tree that there was or was to be. */
  readonly trees: readonly unknown[];
}

type Which = 'session' | 'root';

async function live(which: Which, at: number, mode: 'exclusive' | 'per-session'): Promise<Life> {
  const points: string[] = [];
  const failures: unknown[] = [];
  const appendsAfterLoss: string[][] = [];
  const trees: unknown[] = [];
  let lost = false;
  const holder: { kit?: Kit } = {};
  const point = (name: string): void => {
    if (lost || holder.kit === undefined) return;
    points.push(name);
    if (points.length !== at) return;
    lost = true;
    if (which === 'session') holder.kit.loseSessionLease();
    else holder.kit.loseRootLease();
  };
  const edit = (text: string): void => {
    holder.kit?.write('a.txt', text);
    holder.kit?.write('b.txt', text);
    trees.push(listTree(holder.kit?.root ?? ''));
  };
  const agent = defineLoop({
    name: 'agent',
    turn: async ({ input, signal, step }) => {
      await step(async () => {
        signal.throwIfAborted();
        edit(input as string);
        point('in a step');
        await settle(1);
      });
    },
  });
  const kit = await Kit.open({
    loops: [agent],
    mode,
    policy: { trigger: 'turn-done', priority: 'required' },
  });
  trees.push(listTree(kit.root));
  holder.kit = kit;
  kit.controller.observe((notice) => {
    if (notice.type === 'fault-changed' || notice.type === 'checkpoint-progress') return;
    const step = 'step' in notice ? ` ${String(notice.step)}` : '';
    point(`${notice.type}${step}`);
  });
  kit.snapshots.before = () => {
    point('before a snapshot');
  };
  kit.beforeAppend = (types) => {
    if (lost) appendsAfterLoss.push([...types]);
  };
  kit.afterAppend = (types) => {
    point(`after ${types.join(', ')}`);
  };
  const attempt = async (run: () => Promise<unknown>): Promise<void> => {
    if (lost) return;
    await run().catch((error: unknown) => failures.push(error));
  };
  const turn = async (text: string): Promise<void> => {
    const { outcome } = await kit.controller.submit(text);
    const ended = await outcome;
    if (ended.status === 'failed') throw ended.error;
  };
  await attempt(async () => await turn('one'));
  await attempt(async () => await turn('two'));
  const [first] = await kit.controller.checkpoints();
  await attempt(async () => await kit.controller.restoreWorkspace(first?.ref as never, { prune: 'exact' }));
  await attempt(async () => await kit.controller.undo({ prune: 'exact' }));
  await attempt(async () => await kit.controller.checkpointWorkspace());
  await settle();
  return { kit, points, lost, failures, appendsAfterLoss, trees };
}

describe.each([
  ['session', 'exclusive'],
  ['root', 'exclusive'],
  ['session', 'per-session'],
] as const)('the loss of the lease of the %s (%s root)', (which, mode) => {
  it('at any point ends all writing, faults the session and leaves a whole tree', {
    timeout: 300_000,
  }, async () => {
    const seen = new Set<string>();
    for (let at = 1; ; at += 1) {
      const life = await live(which, at, mode);
      const { appendsAfterLoss, failures, kit, lost, points, trees } = life;
      const where = `point ${at}, ${points.at(-1)}`;
      if (!lost) {
        expect(failures, 'a life without a loss').toEqual([]);
        expect(at).toBeGreaterThan(40);
        break;
      }
      seen.add(points.at(-1) as string);
      expect(kit.controller.state().fault, where).toMatchObject({ kind: 'terminal', reason: 'lease-lost' });
      expect(appendsAfterLoss, where).toEqual([]);
      for (const failure of failures)
        expect(isHoldfastError(failure), `${where}: ${String(failure)}`).toBe(true);
      expect(trees, `${where}: old or new`).toContainEqual(listTree(kit.root));
      const held = kit.coordinator.inspect();
      expect(held, where).toMatchObject({ active: [], queued: [], suspensions: [] });
      // Whoever asks for more is refused, and nothing changes any more.
      const before = listTree(kit.root);
      await expect(kit.controller.checkpointWorkspace(), where).rejects.toMatchObject({ kind: 'faulted' });
      const refused = await kit.controller.undo().catch((error: unknown) => error);
      expect(isHoldfastError(refused), where).toBe(true);
      if (WorkspaceRestoreError.is(refused)) expect(refused.kind, where).toBe('faulted');
      await expect(kit.controller.submit('more'), where).rejects.toMatchObject({ code: 'SESSION_FAULTED' });
      await kit.controller.shutdown().catch(() => undefined);
      expect(listTree(kit.root), where).toEqual(before);
      expect(appendsAfterLoss, where).toEqual([]);
      await kit.end();
    }
    // Every kind of point was met.
    const steps = [...seen].flatMap((name) => (/^restore-progress (.+)$/.exec(name) ?? []).slice(1));
    expect(steps).toEqual(expect.arrayContaining(['stage', 'commit', 'verify', 'clean-up']));
  });
});

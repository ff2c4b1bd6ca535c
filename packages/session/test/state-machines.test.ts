import { findCause } from '@holdfast/base';
import { CoordinatorClosedError } from '@holdfast/coordinator';
import type { SessionJournal } from '@holdfast/journal';
import { WorkspaceRestoreError } from '@holdfast/restore';
import {
  CheckpointError,
  defineLoop,
  SessionClosedError,
  SessionFaultedError,
  SessionPointError,
  type SnapshotPriority,
  type SnapshotTrigger,
} from '@holdfast/session';
import type { Ref } from '@holdfast/workspacestore';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { listTree } from '../../../tools/oracle/oracle.mjs';
import { Kit, settle } from './support/kit.js';

/**
 * The machines of a session (turns and steps, checkpoint runner, restores, faults, shutdown) under schedules that
 * fast-check makes up and shrinks: several calls at once, cancellations, snapshots and appends that fail, leases that are
 * lost, a shutdown in the middle. What is true of every schedule is checked against the journal, the files, and the
 * records that the test keeps itself.
 */

const runs = Number(process.env['HOLDFAST_RUNS'] ?? 60);
const seed = Number(process.env['HOLDFAST_SEED'] ?? 20_26);

type Action =
  | { readonly do: 'submit'; readonly steps: number; readonly fails: boolean }
  | { readonly do: 'checkpoint' | 'interrupt' | 'edit' | 'undo' | 'boundary' | 'wait' }
  | {
      readonly do: 'restore';
      readonly which: number;
      readonly safety: boolean;
      readonly drain: 'wait' | 'fail';
    }
  | { readonly do: 'shutdown' | 'lose-root' | 'lose-session' };

interface Step {
  readonly action: Action;
  /** Turns of the event loop after which the call is cancelled; absent: never. */
  readonly cancelAfter: number | undefined;
  /** Turns of the event loop until the next step. */
  readonly pause: number;
}

interface Plan {
  readonly trigger: SnapshotTrigger;
  readonly priority: SnapshotPriority;
  readonly mode: 'exclusive' | 'per-session' | 'shared';
  readonly steps: readonly Step[];
  /** Numbers of the snapshots that fail. */
  readonly failingSnapshots: readonly number[];
  /** Number of the append that fails, and every later one; absent: none. */
  readonly failingAppend: number | undefined;
}

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      steps: fc.integer({ min: 0, max: 2 }),
      fails: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('checkpoint', 'checkpoint', 'interrupt', 'edit', 'undo', 'boundary', 'wait'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('restore' as const),
      which: fc.nat({ max: 9 }),
      safety: fc.boolean(),
      drain: fc.constantFrom('wait', 'fail'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('shutdown', 'lose-root', 'lose-session') }),
  },
);

const plan: fc.Arbitrary<Plan> = fc
  .record({
    trigger: fc.constantFrom<SnapshotTrigger>('manual', 'idle', 'turn-done', 'step-done'),
    priority: fc.constantFrom<SnapshotPriority>('best-effort', 'required'),
    mode: fc.constantFrom('exclusive' as const, 'per-session' as const, 'shared' as const),
    steps: fc.array(
      fc.record({
        action,
        cancelAfter: fc.option(fc.nat({ max: 8 }), { nil: undefined, freq: 3 }),
        pause: fc.nat({ max: 5 }),
      }),
      { minLength: 1, maxLength: 14 },
    ),
    failingSnapshots: fc.uniqueArray(fc.nat({ max: 8 }), { maxLength: 3 }),
    failingAppend: fc.option(fc.integer({ min: 3, max: 40 }), { nil: undefined, freq: 3 }),
  })
  .map((made) => (made.mode === 'shared' ? { ...made, priority: 'best-effort' as const } : made));

const injected = new Error('injected');
const cancelled = new Error('cancelled by the schedule');

/** One plan, carried out. */
class Execution {
  readonly #plan: Plan;
  readonly #kit: Kit;
  readonly #running = new Set<Promise<void>>();
  readonly #refs: Ref[] = [];
  readonly #turns: { readonly turn: string; status: string | undefined }[] = [];
  /** Acknowledged by a call that returned. */
  readonly #acknowledged: { readonly type: 'checkpoint' | 'restore'; readonly ref: Ref }[] = [];
  readonly #unexpected: unknown[] = [];
  #snapshots = 0;
  #appends = 0;
  #edits = 0;
  #lost = false;
  #down: Promise<void> | undefined;
  /** Appends that reached the ledger after a lease was lost. */
  #appendedAfterLoss = 0;

  static async carryOut(given: Plan): Promise<void> {
    const holder: { execution?: Execution } = {};
    const agent = defineLoop({
      name: 'agent',
      turn: async ({ input, step, signal }) => {
        const { fails, steps } = input as { fails: boolean; steps: number };
        for (let count = 0; count < steps; count += 1) {
          await step(async () => {
            await holder.execution?.edit();
            await settle(1);
          });
          signal.throwIfAborted();
        }
        if (fails) throw new Error('the model gave up');
      },
    });
    const kit = await Kit.open({
      loops: [agent],
      mode: given.mode,
      policy: { trigger: given.trigger, priority: given.priority },
    });
    try {
      const execution = new Execution(given, kit);
      holder.execution = execution;
      await execution.#run();
    } finally {
      await kit.end();
    }
  }

  private constructor(given: Plan, kit: Kit) {
    this.#plan = given;
    this.#kit = kit;
    kit.snapshots.before = async () => {
      const number = this.#snapshots;
      this.#snapshots += 1;
      await settle(1);
      if (given.failingSnapshots.includes(number)) throw injected;
    };
    kit.beforeAppend = () => {
      this.#appends += 1;
      if (this.#lost) this.#appendedAfterLoss += 1;
      if (given.failingAppend !== undefined && this.#appends >= given.failingAppend) throw injected;
    };
  }

  /** An edit as a tool makes it: under a permit. */
  async edit(): Promise<void> {
    using _permit = await this.#kit.coordinator.acquire({ operation: 'whole-mutation' });
    this.#edits += 1;
    this.#kit.write(this.#edits % 2 === 0 ? 'a.txt' : 'b.txt', `edit ${this.#edits}`);
  }

  async #run(): Promise<void> {
    for (const { action: next, cancelAfter, pause } of this.#plan.steps) {
      const cancel = new AbortController();
      if (cancelAfter !== undefined) {
        settle(cancelAfter).then(
          () => {
            cancel.abort(cancelled);
          },
          () => undefined,
        );
      }
      this.#track(this.#start(next, cancelAfter === undefined ? undefined : cancel.signal));
      await settle(pause);
    }
    await this.#rest();
    await this.#check();
  }

  async #start(next: Action, signal: AbortSignal | undefined): Promise<void> {
    const { controller } = this.#kit;
    switch (next.do) {
      case 'submit': {
        const { outcome, turn } = await controller.submit(
          { steps: next.steps, fails: next.fails },
          { signal },
        );
        const record: { readonly turn: string; status: string | undefined } = { turn, status: undefined };
        this.#turns.push(record);
        record.status = (await outcome).status;
        return;
      }
      case 'checkpoint': {
        const ref = await controller.checkpointWorkspace({ signal });
        this.#refs.push(ref);
        this.#acknowledged.push({ type: 'checkpoint', ref });
        return;
      }
      case 'restore': {
        const ref = this.#refs[next.which % Math.max(1, this.#refs.length)];
        if (ref === undefined) return;
        const { safety, drain } = next;
        const receipt = await controller.restoreWorkspace(ref, {
          safety,
          drain,
          signal,
          onConflict: 'overwrite',
        });
        this.#acknowledged.push({ type: 'restore', ref: receipt.ref });
        return;
      }
      case 'undo': {
        const receipt = await controller.undo({ signal, onConflict: 'overwrite' });
        this.#acknowledged.push({ type: 'restore', ref: receipt.ref });
        return;
      }
      case 'boundary':
        await controller.boundary('turn-done', { cause: { turn: `own-${this.#appends}` } });
        return;
      case 'interrupt':
        await controller.interrupt({ signal });
        return;
      case 'edit':
        await this.edit();
        return;
      case 'wait':
        return;
      case 'shutdown':
        this.#down = controller.shutdown();
        await this.#down;
        return;
      case 'lose-root':
      case 'lose-session':
        if (this.#down !== undefined) return;
        if (next.do === 'lose-root' && this.#plan.mode !== 'exclusive') return;
        if (next.do === 'lose-root') this.#kit.loseRootLease();
        else this.#kit.loseSessionLease();
        this.#lost = true;
        return;
    }
  }

  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch((error: unknown) => {
        if (!isExpected(error)) this.#unexpected.push(error);
      })
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Until nothing runs any more. A recoverable fault is taken away: turns wait for that. */
  async #rest(): Promise<void> {
    const { controller, coordinator } = this.#kit;
    // By time: a slow disk takes many turns of an event loop that has nothing else to do.
    const deadline = performance.now() + 60_000;
    for (let calm = 0; calm < 6; ) {
      if (performance.now() > deadline)
        throw new Error(`does not come to rest: ${JSON.stringify(controller.state())}`);
      await settle(3);
      if (controller.state().fault?.kind === 'recoverable') {
        await controller.checkpointWorkspace().catch(() => undefined);
      }
      const { active, queued } = coordinator.inspect();
      const { fault, phase } = controller.state();
      const quiet = fault?.kind === 'terminal' || phase === 'closed' || phase === 'idle';
      const still = this.#running.size === 0 && active.length + queued.length === 0;
      calm = quiet && still && fault?.kind !== 'recoverable' ? calm + 1 : 0;
    }
  }

  async #check(): Promise<void> {
    const kit = this.#kit;
    const { controller, coordinator, runtime } = kit;
    expect(this.#unexpected, 'every call is answered as documented').toEqual([]);
    // No permit and no suspension is left.
    expect(coordinator.inspect()).toMatchObject({ active: [], queued: [], suspensions: [] });
    const { fault, phase } = controller.state();
    if (this.#lost) {
      expect(this.#appendedAfterLoss, 'nothing is written after the loss of a lease').toBe(0);
      if (this.#down === undefined) expect(fault?.kind).toBe('terminal');
    }
    const isHealthy = fault === undefined && phase === 'idle';
    kit.beforeAppend = undefined;
    const journal = await this.#readJournal(isHealthy ? runtime.journal : await this.#reopened());
    // Turns: each that began has ended, unless the session was stopped from writing; what a caller was told is there.
    if (isHealthy || phase === 'closed') {
      if (fault === undefined) expect(journal.started.filter((turn) => !journal.ended.has(turn))).toEqual([]);
    }
    for (const { turn, status } of this.#turns) {
      expect(status, `turn ${turn} has an outcome`).toBeDefined();
      if (fault !== undefined || !journal.started.includes(turn)) continue;
      expect(journal.ended.get(turn), turn).toBe(status);
    }
    // Nothing acknowledged is missing.
    for (const { ref, type } of this.#acknowledged) {
      expect(type === 'checkpoint' ? journal.checkpointed : journal.restored, type).toContain(ref);
    }
    if (fault === undefined) expect(journal.openRestore, 'an open restore means a fault').toBeUndefined();
    if (!isHealthy) return;
    await this.#checkPointer(journal);
  }

  /** A checkpoint now equals the files; and files that nobody edited since the last pointer equal that. */
  async #checkPointer(journal: JournalFacts): Promise<void> {
    const kit = this.#kit;
    kit.beforeAppend = undefined;
    kit.snapshots.before = undefined;
    const before = await kit.store.openTree(await kit.controller.checkpointWorkspace());
    const copy = `${kit.place}/copy`;
    await kit.store.materialize(before.ref, copy);
    expect(listTree(copy)).toEqual(listTree(kit.root));
    if (journal.lastRestored === undefined) return;
    await kit.controller.restoreWorkspace(journal.lastRestored, { onConflict: 'overwrite', prune: 'exact' });
    const restored = `${kit.place}/restored`;
    await kit.store.materialize(journal.lastRestored, restored);
    expect(listTree(kit.root)).toEqual(listTree(restored));
    await kit.controller.undo({ onConflict: 'overwrite', prune: 'exact' });
    expect(listTree(kit.root)).toEqual(listTree(copy));
    await kit.controller.shutdown();
    expect(kit.released).toEqual(['root', 'session']);
  }

  /** What the next owner finds. */
  async #reopened(): Promise<SessionJournal> {
    await this.#kit.controller.shutdown().catch(() => undefined);
    return await this.#kit.reopen();
  }

  async #readJournal(read: SessionJournal): Promise<JournalFacts> {
    const { store } = this.#kit;
    const started: string[] = [];
    const ended = new Map<string, string>();
    const checkpointed: Ref[] = [];
    const restored: Ref[] = [];
    const triggers = new Set<string>();
    let last: string | undefined;
    for await (const event of read.events()) {
      const body = event.body as { turn?: string; ref?: Ref; cause?: { event?: string } };
      last = event.type;
      switch (event.type) {
        case 'TurnStarted':
          started.push(body.turn as string);
          break;
        case 'TurnDone':
        case 'TurnFailed':
        case 'TurnInterrupted':
          ended.set(body.turn as string, event.type.slice(4).toLowerCase());
          triggers.add(event.id);
          break;
        case 'StepDone':
        case 'SessionIdle':
          triggers.add(event.id);
          break;
        case 'WorkspaceCheckpointed':
        case 'WorkspaceCheckpointFailed':
          // No trigger event is lost: what names one comes after it.
          if (body.cause?.event !== undefined) expect(triggers).toContain(body.cause.event);
          if (event.type === 'WorkspaceCheckpointFailed') break;
          // No ref without a durable archive.
          checkpointed.push(body.ref as Ref);
          expect(await store.has(body.ref as Ref)).toBe(true);
          await store.openTree(body.ref as Ref);
          break;
        case 'WorkspaceRestored':
          restored.push(body.ref as Ref);
          break;
        default:
          break;
      }
    }
    expect(last).toBeDefined();
    return {
      started,
      ended,
      checkpointed,
      restored,
      lastRestored: restored.at(-1),
      openRestore: read.fold.openRestore?.restoreId,
    };
  }
}

interface JournalFacts {
  readonly started: readonly string[];
  readonly ended: ReadonlyMap<string, string>;
  readonly checkpointed: readonly Ref[];
  readonly restored: readonly Ref[];
  readonly lastRestored: Ref | undefined;
  readonly openRestore: string | undefined;
}

/** What a call of this schedule may reject with. */
function isExpected(error: unknown): boolean {
  return (
    error === cancelled ||
    error === injected ||
    findCause(error, SessionFaultedError) !== undefined ||
    [
      CheckpointError,
      WorkspaceRestoreError,
      SessionClosedError,
      SessionPointError,
      CoordinatorClosedError,
    ].some((Class) => (Class as unknown as { is(value: unknown): boolean }).is(error)) ||
    (error as { code?: string }).code === 'SESSION_SHUTDOWN' ||
    causesOf(error).includes(injected)
  );
}

function causesOf(error: unknown): readonly unknown[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

describe('a session under schedules that were made up', () => {
  it('loses no event, no ref, no permit, and never disagrees with its files', {
    timeout: 60_000 + runs * 3000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (made) => {
        await Execution.carryOut(made);
      }),
      { numRuns: runs, seed, endOnFailure: false },
    );
  });
});

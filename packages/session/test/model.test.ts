import { type SeededRandom, seededRandom } from '@holdfast/base/testing';
import { defineLoop, type SnapshotPriority, type SnapshotTrigger } from '@holdfast/session';
import type { Ref } from '@holdfast/workspacestore';
import { expect, it } from 'vitest';

import { Kit, settle } from './support/kit.js';

/**
 * Random schedules of everything a session can be asked, with cancellations and injected failures, several at once.
 * Afterwards what the journal says must be true: of the files, of every turn and of every ref.
 */
class Schedule {
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #running = new Set<Promise<unknown>>();
  readonly #refs: Ref[] = [];
  readonly #submitted: string[] = [];
  #kit!: Kit;
  #writes = 0;
  #failures = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  async run(steps: number): Promise<void> {
    const random = this.#random;
    const trigger: SnapshotTrigger = random.pick(['manual', 'idle', 'turn-done', 'step-done']);
    const priority: SnapshotPriority = random.pick(['best-effort', 'required']);
    const loop = defineLoop({
      name: 'agent',
      turn: async ({ input, step, signal }) => {
        for (let count = 0; count < (input as number); count += 1) {
          await step(async () => {
            await this.#edit();
            await settle(1);
          });
          signal.throwIfAborted();
        }
        if (input === 3) throw new Error('the model gave up');
      },
    });
    this.#kit = await Kit.open({
      loops: [loop],
      mode: random.pick(['exclusive', 'per-session']),
      policy: { trigger, priority },
    });
    this.#kit.snapshots.before = async () => {
      await settle(this.#random.below(3));
      if (this.#random.below(8) > 0) return;
      this.#failures += 1;
      throw new Error('injected');
    };
    for (let count = 0; count < steps; count += 1) {
      this.#start();
      await settle(random.below(4));
      if (random.below(5) === 0) await this.#join();
    }
    await this.#join();
    this.#kit.snapshots.before = undefined;
    await this.#quiet();
    await this.#check(trigger, priority);
  }

  #start(): void {
    const { controller } = this.#kit;
    const random = this.#random;
    const signal = random.below(4) === 0 ? this.#soonAborted() : undefined;
    const draw = random.below(10);
    if (draw < 4) {
      this.#track(
        controller.submit(random.below(4)).then(async ({ outcome, turn }) => {
          this.#submitted.push(turn);
          await outcome;
        }),
      );
    } else if (draw < 6)
      this.#track(controller.checkpointWorkspace({ signal }).then((ref) => this.#refs.push(ref)));
    else if (draw < 8 && this.#refs.length > 0) {
      const options = { signal, safety: random.below(3) > 0, drain: random.pick(['wait', 'fail'] as const) };
      this.#track(controller.restoreWorkspace(random.pick(this.#refs), options));
    } else if (draw === 8) this.#track(controller.interrupt());
    else this.#track(this.#edit());
  }

  /** An edit as a tool makes it: under a permit. */
  async #edit(): Promise<void> {
    using _permit = await this.#kit.coordinator.acquire({ operation: 'whole-mutation' });
    this.#writes += 1;
    this.#kit.write(this.#random.pick(['a.txt', 'b.txt']), `write ${this.#writes}`);
  }

  #soonAborted(): AbortSignal {
    const controller = new AbortController();
    settle(this.#random.below(6)).then(
      () => controller.abort(new Error('cancelled by the schedule')),
      () => undefined,
    );
    return controller.signal;
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.catch(() => undefined).finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Waits for what was started. A required checkpoint that failed keeps turns from beginning until a manual one succeeds. */
  async #join(): Promise<void> {
    const { controller } = this.#kit;
    while (this.#running.size > 0) {
      await settle(2);
      if (controller.state().fault?.kind !== 'recoverable') continue;
      await controller.checkpointWorkspace().catch(() => undefined);
    }
  }

  /** Waits until the session has nothing to do; a recoverable fault is taken away first. */
  async #quiet(): Promise<void> {
    const { controller } = this.#kit;
    // By time: a slow disk takes many turns of an event loop that has nothing else to do.
    const deadline = performance.now() + 60_000;
    for (let calm = 0; performance.now() < deadline; ) {
      if (controller.state().fault?.kind === 'recoverable') {
        await controller.checkpointWorkspace().catch(() => undefined);
      }
      await settle(5);
      const { active, queued } = this.#kit.coordinator.inspect();
      const { fault, phase } = controller.state();
      calm = phase === 'idle' && fault === undefined && active.length + queued.length === 0 ? calm + 1 : 0;
      if (calm === 5) return;
    }
    throw new Error(
      `seed ${this.#seed}: the session does not come to rest: ${JSON.stringify(controller.state())}`,
    );
  }

  async #check(trigger: SnapshotTrigger, priority: SnapshotPriority): Promise<void> {
    const kit = this.#kit;
    const where = `seed ${this.#seed}, ${trigger} ${priority}, ${this.#failures} failures`;
    expect(kit.controller.state().fault, where).toBeUndefined();
    expect(kit.coordinator.inspect(), where).toMatchObject({ active: [], queued: [], suspensions: [] });
    expect(kit.runtime.fold.openRestore, where).toBeUndefined();
    expect(kit.runtime.fold.openTurns, where).toEqual([]);
    const started: string[] = [];
    const ended: string[] = [];
    const triggers = new Set<string>();
    for await (const event of kit.runtime.journal.events()) {
      const body = event.body as {
        turn?: string;
        cause?: { event?: string };
        ref?: string;
        trigger?: string;
      };
      if (event.type === 'TurnStarted') started.push(body.turn as string);
      if (/^Turn(Done|Failed|Interrupted)$/.test(event.type)) ended.push(body.turn as string);
      if (/^(StepDone|Turn(Done|Failed|Interrupted)|SessionIdle)$/.test(event.type)) triggers.add(event.id);
      if (event.type !== 'WorkspaceCheckpointed') continue;
      expect(await kit.store.has(body.ref as Ref), `${where}: ${String(body.ref)} is stored`).toBe(true);
      if (body.cause?.event !== undefined)
        expect(triggers.has(body.cause.event), `${where}: cause first`).toBe(true);
    }
    expect(started, `${where}: every turn ended, in order`).toEqual(ended);
    expect(started, `${where}: every accepted turn began`).toEqual(
      this.#submitted.filter((turn) => started.includes(turn)),
    );
    // A checkpoint now must agree with the files.
    const ref = await kit.controller.checkpointWorkspace();
    expect(kit.runtime.fold.currentWorkspace?.ref, where).toBe(ref);
    const tree = await kit.store.openTree(ref);
    const live = await kit.store.scan(kit.root);
    expect(live.treeKey, where).toBe(tree.treeKey);
    await kit.controller.shutdown();
    expect(kit.released, where).toEqual(['root', 'session']);
  }
}

it('keeps its promises in random schedules', async () => {
  for (let seed = 1; seed <= 30; seed += 1) await new Schedule(seed).run(14);
});

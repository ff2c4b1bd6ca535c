import type {
  Appended,
  CheckpointCause,
  CheckpointTrigger,
  EventInput,
  StepDoneBody,
} from '@holdfast/journal';
import type { Ref } from '@holdfast/workspacestore';

import { CheckpointError, SessionClosedError } from '../errors.js';
import type { TurnOutcome } from '../loop.js';
import { bestEffortWait, type SnapshotPolicy } from '../policy.js';
import type { BoundaryRunner } from './boundary.js';
import {
  type CheckpointHost,
  type CheckpointRequest,
  CheckpointTransaction,
} from './checkpoint-transaction.js';
import { type Deferred, deferred } from './deferred.js';
import { Maintenance } from './maintenance.js';
import { turnEndEvent } from './turn-end-event.js';

/** What a boundary led to. */
export interface BoundaryResult {
  /** Record of the boundary's event. */
  readonly event: Appended;
  /** The checkpoint, when one was required and taken. */
  readonly ref: Ref | undefined;
}

interface Boundary {
  readonly trigger: Extract<CheckpointTrigger, 'idle' | 'interrupt' | 'turn-done' | 'step-done'>;
  readonly event: EventInput;
  readonly cause: CheckpointCause;
}

interface PendingWalk {
  readonly request: CheckpointRequest;
  readonly begun: Deferred<void>;
}

/** What the runner asks its session. */
export interface RunnerHost extends CheckpointHost {
  /** `undefined`: no checkpoints at boundaries. */
  readonly policy: SnapshotPolicy;
  readonly isIdle: () => boolean;
  readonly isClosing: () => boolean;
}

/**
 * Decides when checkpoints are taken. *Manual* and *required* ones go one after another through the execution gate;
 * *best-effort* ones run in the background, one at a time with at most one waiting, and give way to new activity.
 */
export class CheckpointRunner implements BoundaryRunner {
  readonly #host: RunnerHost;
  readonly #transaction: CheckpointTransaction;
  readonly #maintenance: Maintenance;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #pending: PendingWalk | undefined;
  #walk: AbortController | undefined;
  #walking: Promise<void> | undefined;
  /** Resolving it lets the boundary of the present walk go on. */
  #begun: Deferred<void> | undefined;
  #interruptedTurn: string | undefined;

  constructor(host: RunnerHost) {
    this.#host = host;
    this.#transaction = new CheckpointTransaction(host);
    this.#maintenance = new Maintenance(host);
  }

  /** Takes a checkpoint now; the session must be idle. Success takes a recoverable fault away. */
  async manual(signal: AbortSignal | undefined): Promise<Ref> {
    this.#refuseManual();
    const { ref } = await this.#track({
      trigger: 'manual',
      closesGate: true,
      recheck: () => {
        this.#refuseManual();
      },
      timeout: this.#host.policy.timeout,
      signal,
    });
    this.#host.faults.recover();
    return ref;
  }

  /** Takes a checkpoint outside the policy: seed, baseline, safety, recovered. */
  async extra(request: Omit<CheckpointRequest, 'timeout'>): Promise<Ref> {
    const { ref } = await this.#track({ ...request, timeout: this.#host.policy.timeout });
    return ref;
  }

  activityBegins(): void {
    if (this.#host.workspace.mode === 'shared') return;
    this.giveWay('new activity');
  }

  /** Cancels what runs and waits in the background. */
  giveWay(reason: string): void {
    this.#maintenance.giveWay(reason);
    this.#walk?.abort(new Error(`gave way to ${reason}`));
    this.#pending?.begun.resolve();
    this.#pending = undefined;
  }

  /** Lets boundaries go on that wait for a best-effort checkpoint to begin. */
  hurry(): void {
    this.#begun?.resolve();
    this.#pending?.begun.resolve();
    this.activityBegins();
  }

  /** Cancels what runs and waits in the background, and waits for its end. */
  async clearBackground(reason: string): Promise<void> {
    this.giveWay(reason);
    await this.#walking;
    await this.#maintenance.settled();
  }

  async stepDone(step: StepDoneBody): Promise<BoundaryResult> {
    const { turn, loop } = step;
    return await this.boundary({
      trigger: 'step-done',
      event: { type: 'StepDone', body: step, loop },
      cause: { turn, loop, step: step.step },
    });
  }

  async turnEnded(outcome: TurnOutcome): Promise<BoundaryResult> {
    const { turn, loop } = outcome;
    if (outcome.status === 'interrupted') this.#interruptedTurn = turn;
    return await this.boundary({
      trigger: 'turn-done',
      event: { ...turnEndEvent(outcome), loop },
      cause: { turn, loop },
    });
  }

  /** The last loop has nothing to do any more. */
  async idle(loop?: string): Promise<BoundaryResult> {
    const turn = this.#interruptedTurn;
    this.#interruptedTurn = undefined;
    const result = await this.boundary({
      trigger: turn === undefined ? 'idle' : 'interrupt',
      event: { type: 'SessionIdle', body: loop === undefined ? {} : { loop } },
      cause: turn === undefined ? {} : { turn },
    });
    this.#maintain();
    return result;
  }

  /** Records a boundary and takes the checkpoint that the policy asks for there. */
  async boundary(boundary: Boundary): Promise<BoundaryResult> {
    const { log, policy } = this.#host;
    const asked = policy.trigger === (boundary.trigger === 'interrupt' ? 'idle' : boundary.trigger);
    if (asked && policy.priority === 'required') return await this.#required(boundary);
    const event = await log.append(boundary.event);
    if (asked) await this.#offer({ ...boundary, event });
    return { event, ref: undefined };
  }

  /** Lets what runs come to its end until `signal` aborts, then cancels it and waits for that. Nothing starts any more. */
  async close(signal: AbortSignal): Promise<void> {
    this.giveWay('shutdown');
    const cancel = (): void => {
      this.#ending.abort(signal.reason);
    };
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    await Promise.allSettled([...this.#running]);
    await this.#walking;
    await this.#maintenance.settled();
    signal.removeEventListener('abort', cancel);
    this.#ending.abort(new SessionClosedError(this.#host.sessionId, 'closed'));
  }

  async #required(boundary: Boundary): Promise<BoundaryResult> {
    const { faults, policy } = this.#host;
    let event: Appended | undefined;
    try {
      const committed = await this.#track({
        trigger: boundary.trigger,
        cause: boundary.cause,
        triggerEvent: boundary.event,
        closesGate: true,
        timeout: policy.timeout,
        onTriggered: (appended) => {
          event = appended;
        },
      });
      return { event: committed.triggerEvent as Appended, ref: committed.ref };
    } catch (error) {
      faults.recoverable('checkpoint-failed', error);
      if (event === undefined) throw error;
      return { event, ref: undefined };
    }
  }

  /** Puts a best-effort checkpoint in line, in place of one that waits, and waits a moment for it to begin. */
  async #offer(boundary: Omit<Boundary, 'event'> & { readonly event: Appended }): Promise<void> {
    const begun = deferred<void>();
    this.#pending?.begun.resolve();
    this.#pending = {
      begun,
      request: {
        trigger: boundary.trigger,
        cause: { ...boundary.cause, event: boundary.event.id },
        closesGate: false,
        onPermit: begun.resolve,
        timeout: this.#host.policy.timeout,
      },
    };
    this.#walking ??= this.#walkOn();
    using _limit = this.#host.clock.schedule(bestEffortWait, begun.resolve);
    await begun.promise;
  }

  /** Never rejects: what fails is recorded as an event. */
  async #walkOn(): Promise<void> {
    for (let next = this.#pending; next !== undefined; next = this.#pending) {
      this.#pending = undefined;
      this.#begun = next.begun;
      this.#walk = new AbortController();
      try {
        await this.#track({
          ...next.request,
          cancel: this.#walk.signal,
          onContended: () => {
            this.activityBegins();
          },
        });
      } catch {
        // Recorded as an event by the transaction.
      }
      this.#walk = undefined;
      this.#begun = undefined;
      next.begun.resolve();
    }
    // In the same turn as the last look at what is pending: what comes later starts anew.
    this.#walking = undefined;
  }

  async #track(request: CheckpointRequest): Promise<Awaited<ReturnType<CheckpointTransaction['run']>>> {
    const work = this.#transaction.run({
      ...request,
      cancel:
        request.cancel === undefined
          ? this.#ending.signal
          : AbortSignal.any([request.cancel, this.#ending.signal]),
    });
    this.#running.add(work);
    try {
      const committed = await work;
      this.#maintenance.checkpointed();
      return committed;
    } finally {
      this.#running.delete(work);
      this.#maintain();
    }
  }

  /** Lets the store tidy up, when the session has nothing else to do. */
  #maintain(): void {
    const { isClosing, isIdle } = this.#host;
    if (isIdle() && !isClosing() && this.#running.size === 0) this.#maintenance.begin();
  }

  #refuseManual(): void {
    const { faults, isClosing, isIdle, sessionId } = this.#host;
    const refuse = (kind: 'unavailable' | 'faulted' | 'not-idle', detail: string, cause?: unknown): never => {
      throw new CheckpointError(kind, sessionId, 'manual', detail, { cause });
    };
    if (isClosing()) {
      refuse('unavailable', 'the session is shutting down', new SessionClosedError(sessionId, 'closing'));
    }
    const fault = faults.refusal('terminal');
    if (fault !== undefined) refuse('faulted', fault.message, fault);
    if (!isIdle()) refuse('not-idle', 'a turn is running: interrupt it or wait for its end');
  }
}

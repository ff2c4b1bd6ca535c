import type { JsonValue, Random } from '@holdfast/base';
import { randomHex, textOf } from '@holdfast/base';
import type { FaultLatch } from '../fault.js';
import type { LoopState } from '../lifecycle.js';
import type { AnyLoop, Submission, TurnContext, TurnOutcome } from '../loop.js';
import type { Observations } from '../observations.js';
import type { Session } from '../session.js';
import type { BoundTool } from '../tool.js';
import type { Activity } from './activity.js';
import type { BoundaryRunner } from './boundary.js';
import { type Deferred, deferred } from './deferred.js';
import type { EventLog } from './event-log.js';
import type { ExecutionGate } from './execution-gate.js';
import { turnEndEvent } from './turn-end-event.js';
import { TurnTickets } from './turn-tickets.js';

/** What a loop needs of its session. */
export interface LoopHost {
  readonly session: Session;
  readonly log: EventLog;
  readonly gate: ExecutionGate;
  readonly faults: FaultLatch;
  readonly activity: Activity;
  readonly boundaries: BoundaryRunner;
  readonly random: Random;
  /** Aborted when the session begins to shut down. */
  readonly closing: AbortSignal;
  /** Throws when the session's state keeps new work from starting. */
  admit(): void;
  delegate(parent: LoopRuntime, name: string, input: JsonValue, signal: AbortSignal): Promise<TurnOutcome>;
}

/** A turn that waits to be let in, or runs. */
interface CurrentTurn {
  readonly turn: string;
  readonly interruption: AbortController;
  readonly ended: Promise<TurnOutcome>;
  begun: boolean;
}

interface QueuedInput {
  readonly turn: string;
  readonly input: JsonValue;
  readonly outcome: Deferred<TurnOutcome>;
}

/** The reason of a turn's signal when it is interrupted. */
export class TurnInterruption extends Error {
  override readonly name: string = 'AbortError';
}

/** One instance of a loop: a queue of inputs and at most one running turn. */
export class LoopRuntime {
  readonly id: string;
  readonly definition: AnyLoop;
  readonly observations: Observations;
  readonly #host: LoopHost;
  readonly #tools: Readonly<Record<string, BoundTool<unknown>>>;
  readonly #queue: QueuedInput[] = [];
  #current: CurrentTurn | undefined;
  #working: Promise<void> | undefined;

  constructor(
    id: string,
    definition: AnyLoop,
    host: LoopHost,
    observations: Observations,
    tools: Readonly<Record<string, BoundTool<unknown>>>,
  ) {
    this.id = id;
    this.definition = definition;
    this.observations = observations;
    this.#host = host;
    this.#tools = tools;
  }

  get state(): LoopState {
    const current = this.#current;
    const waiting = current === undefined || current.begun ? 0 : 1;
    return {
      loop: this.id,
      name: this.definition.name,
      turn: waiting === 0 ? current?.turn : undefined,
      queued: this.#queue.length + waiting,
    };
  }

  /** Queues an input. Its turn begins as soon as the loop and the session allow. */
  submit(input: JsonValue): Submission {
    const turn = `turn-${randomHex(this.#host.random, 8)}`;
    const outcome = deferred<TurnOutcome>();
    this.#queue.push({ turn, input, outcome });
    this.#host.activity.hurry();
    this.#working ??= this.#work();
    return { turn, loop: this.id, outcome: outcome.promise };
  }

  /** Interrupts the running turn, if there is one, and waits for its end. */
  async interrupt(reason: string): Promise<void> {
    const running = this.#current;
    if (running?.begun !== true) return;
    running.interruption.abort(new TurnInterruption(reason));
    await running.ended;
  }

  /** Interrupts the running turn, drops queued input, and waits until nothing of this loop runs. */
  async stop(reason: string): Promise<void> {
    for (const { turn, outcome } of this.#queue.splice(0)) {
      outcome.resolve({ status: 'interrupted', turn, loop: this.id, reason });
    }
    this.#current?.interruption.abort(new TurnInterruption(reason));
    this.#host.activity.hurry();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { activity, log } = this.#host;
    while (this.#queue.length > 0) {
      try {
        await activity.loopBusy();
        for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
          next.outcome.resolve(await this.#runTurn(next));
        }
      } catch (error) {
        this.#failQueue(error);
      }
      await log.note({ type: 'LoopIdle', body: { loop: this.id }, loop: this.id });
      await activity.loopDone();
      // Input that came meanwhile starts the loop again.
    }
    this.#working = undefined;
  }

  /** The session's state ended the loop's work: every input that waits gets the reason. */
  #failQueue(error: unknown): void {
    for (const { turn, outcome } of this.#queue.splice(0)) {
      outcome.resolve({ status: 'failed', turn, loop: this.id, error });
    }
  }

  async #runTurn(next: QueuedInput): Promise<TurnOutcome> {
    const { turn, input } = next;
    const interruption = new AbortController();
    const ended = deferred<TurnOutcome>();
    const current: CurrentTurn = { turn, interruption, ended: ended.promise, begun: false };
    this.#current = current;
    let outcome: TurnOutcome;
    try {
      outcome = await this.#admitted(current, input);
    } catch (error) {
      outcome = interruptedBy(interruption.signal, error)
        ? { status: 'interrupted', turn, loop: this.id, reason: reasonText(interruption.signal) }
        : { status: 'failed', turn, loop: this.id, error };
    }
    this.#current = undefined;
    ended.resolve(outcome);
    return outcome;
  }

  // 1. Wait until the session lets turns begin. 2. Record that it began. 3. Run it. 4. Record how it ended, at a boundary.
  async #admitted(current: CurrentTurn, input: JsonValue): Promise<TurnOutcome> {
    const { interruption, turn } = current;
    const { activity, boundaries, faults, log } = this.#host;
    using _closing = forwardAbort(this.#host.closing, interruption, 'the session is shutting down');
    using _fault = forwardAbort(faults.terminalSignal, interruption, 'the session is faulted');
    await this.#begin(interruption.signal);
    current.begun = true;
    try {
      await log.append({ type: 'TurnStarted', body: { turn, loop: this.id, input }, loop: this.id });
      const outcome = await this.#play(turn, input, interruption.signal);
      await boundaries.turnEnded(outcome);
      return outcome;
    } finally {
      activity.turnEnded();
    }
  }

  /** Passes the gate once, so that no turn begins while a checkpoint or a restore has it closed. */
  async #begin(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#host.faults.recovered(signal);
      using _place = await this.#host.gate.enter(signal);
      if (this.#host.faults.fault !== undefined) continue;
      this.#host.admit();
      this.#host.boundaries.activityBegins();
      this.#host.activity.turnStarted();
      return;
    }
  }

  async #play(turn: string, input: JsonValue, signal: AbortSignal): Promise<TurnOutcome> {
    const tickets = new TurnTickets(this.#host.gate);
    try {
      const context = this.#context(turn, input, signal, tickets);
      const output = await this.definition.turn(context as unknown as TurnContext<never>);
      if (signal.aborted) return { status: 'interrupted', turn, loop: this.id, reason: reasonText(signal) };
      const outcome: TurnOutcome = { status: 'done', turn, loop: this.id, output: output ?? undefined };
      this.#host.log.check(turnEndEvent(outcome));
      return outcome;
    } catch (error) {
      if (signal.aborted) return { status: 'interrupted', turn, loop: this.id, reason: reasonText(signal) };
      return { status: 'failed', turn, loop: this.id, error };
    } finally {
      tickets.leaveAll();
    }
  }

  #context(turn: string, input: JsonValue, signal: AbortSignal, tickets: TurnTickets): TurnContext {
    const host = this.#host;
    let steps = 0;
    return {
      turn,
      loop: this.id,
      input,
      signal,
      session: host.session,
      tools: this.#tools as unknown as TurnContext['tools'],
      step: async (run, options = {}) => {
        host.admit();
        // A step of a turn that has ended would be recorded after its end.
        if (tickets.over) throw new TypeError(`step: turn ${turn} has ended`);
        const ticket = await tickets.enter(signal);
        let output: JsonValue | undefined;
        const value = await (async () => {
          try {
            host.admit();
            host.boundaries.activityBegins();
            const result = await run(signal);
            output = options.output?.(result);
            return result;
          } finally {
            ticket.leave();
          }
        })();
        const kept = output === undefined ? {} : { output };
        const step = { turn, loop: this.id, step: steps + 1, ...kept };
        host.log.check({ type: 'StepDone', body: step });
        steps += 1;
        await host.boundaries.stepDone(step);
        return value;
      },
      delegate: async (name, delegated) =>
        await tickets.outside(signal, async () => await host.delegate(this, name, delegated, signal)),
      publish: async (type, body) => {
        await host.log.append({ type, body, loop: this.id });
      },
    };
  }
}

function forwardAbort(signal: AbortSignal, to: AbortController, reason: string): Disposable {
  const forward = (): void => {
    to.abort(new TurnInterruption(reason, { cause: signal.reason }));
  };
  if (signal.aborted) forward();
  else signal.addEventListener('abort', forward, { once: true });
  return {
    [Symbol.dispose]: () => {
      signal.removeEventListener('abort', forward);
    },
  };
}

function interruptedBy(signal: AbortSignal, error: unknown): boolean {
  return signal.aborted && error === signal.reason;
}

function reasonText(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : textOf(signal.reason);
}

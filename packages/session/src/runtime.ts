import {
  abandonOnAbort,
  type JsonValue,
  onAbort,
  randomHex,
  sha256Hex,
  throwIfAborted,
} from '@holdfast/base';
import type { EventInput, SessionEvent, SessionFold, SessionJournal } from '@holdfast/journal';
import type { RestorePlan, RestoreReceipt } from '@holdfast/restore';
import { parseRef, type Ref } from '@holdfast/workspacestore';

import { controlHandler } from './control/control-handler.js';
import { serveControl } from './control/control-server.js';
import type {
  BoundaryKind,
  BoundaryOptions,
  CallOptions,
  SessionCheckpoint,
  SessionController,
} from './controller.js';
import { SessionClosedError, WorkspaceNotConfiguredError } from './errors.js';
import { FaultLatch } from './fault.js';
import { Activity } from './internal/activity.js';
import type { BoundaryRunner } from './internal/boundary.js';
import type { BoundaryResult } from './internal/checkpoint-runner.js';
import type { CheckpointRequest } from './internal/checkpoint-transaction.js';
import { createController } from './internal/create-controller.js';
import { EventLog } from './internal/event-log.js';
import { ExecutionGate } from './internal/execution-gate.js';
import { Followers } from './internal/followers.js';
import { Loops } from './internal/loops.js';
import { type ManagedWorkspace, manageWorkspace } from './internal/managed-workspace.js';
import { Notices } from './internal/notices.js';
import { PlainBoundaries } from './internal/plain-boundaries.js';
import type { RestoreRunner } from './internal/restore-runner.js';
import { defaultShutdownDeadlines, type PhaseWork, runPhases } from './internal/shutdown.js';
import type { SessionPhase, SessionState } from './lifecycle.js';
import type { Submission } from './loop.js';
import type { NoticeListener } from './notice.js';
import type { RuntimeParts, RuntimeWorkspace } from './runtime-parts.js';
import type { EventsOptions, InterruptOptions, SubmitOptions } from './session.js';

/**
 * A session in one process: the state behind a controller. Whoever opens a session makes one, brings the workspace in
 * order with it, and lets it begin.
 */
export class SessionRuntime {
  readonly controller: SessionController;
  readonly journal: SessionJournal;
  readonly faults: FaultLatch;
  readonly #parts: RuntimeParts;
  readonly #log: EventLog;
  readonly #gate: ExecutionGate = new ExecutionGate();
  readonly #notices: Notices;
  readonly #activity: Activity;
  readonly #boundaries: BoundaryRunner & { idle(loop?: string): Promise<BoundaryResult> };
  readonly #managed: ManagedWorkspace | undefined;
  readonly #loops: Loops;
  readonly #closing = new AbortController();
  readonly #followers: Followers;
  readonly #watches: Disposable[] = [];
  #control: ({ readonly path: string } & AsyncDisposable) | undefined;
  #closed = false;
  #shutdown: Promise<void> | undefined;

  constructor(parts: RuntimeParts) {
    const { journal } = parts;
    this.#parts = parts;
    this.journal = journal;
    this.faults = new FaultLatch(journal.id);
    this.#log = new EventLog(journal, this.faults);
    this.#notices = new Notices(journal.id);
    this.#followers = new Followers(journal);
    this.#activity = new Activity({
      started: async () => await this.#becomeActive(),
      ended: async () => await this.#becomeIdle(),
      hurry: () => this.#managed?.runner.hurry(),
    });
    this.#managed =
      parts.workspace === undefined
        ? undefined
        : manageWorkspace(parts.workspace, {
            sessionId: journal.id,
            journal,
            log: this.#log,
            gate: this.#gate,
            faults: this.faults,
            notices: this.#notices,
            clock: parts.clock,
            random: parts.random,
            isIdle: () => !this.#activity.inTurn,
            isClosing: () => this.#closing.signal.aborted,
            phaseChanged: () => {
              this.#notices.publish({ type: 'phase-changed', phase: this.phase });
            },
            forgetObservations: () => {
              this.#loops.forgetObservations();
            },
          });
    this.#boundaries = this.#managed?.runner ?? new PlainBoundaries(this.#log);
    this.controller = createController(this);
    this.#loops = new Loops(journal.id, parts.loops, parts.workspace, {
      session: this.controller.session,
      log: this.#log,
      gate: this.#gate,
      faults: this.faults,
      activity: this.#activity,
      boundaries: this.#boundaries,
      random: parts.random,
      closing: this.#closing.signal,
      admit: () => {
        this.admit();
      },
    });
  }

  get id(): string {
    return this.journal.id;
  }

  get fold(): SessionFold {
    return this.journal.fold;
  }

  get phase(): SessionPhase {
    if (this.#closed) return 'closed';
    if (this.#closing.signal.aborted) return 'closing';
    if (this.#managed?.restorer.running === true) return 'restoring';
    return this.#activity.busy ? 'active' : 'idle';
  }

  /** Records the event that opens the session, starts the primers, and watches the leases. */
  async begin<const Type extends 'SessionStarted' | 'SessionRestored'>(
    event: EventInput<Type>,
  ): Promise<void> {
    this.#watchLeases();
    await this.#log.append(event);
  }

  /** Starts the primers, in order, and lets other processes in. */
  async startLoops(): Promise<void> {
    for (const primer of this.#parts.primers) await this.#loops.start(primer);
    const { controlDirectory } = this.#parts;
    if (controlDirectory === undefined) return;
    const name = `${sha256Hex(new TextEncoder().encode(this.id)).slice(0, 16)}.sock`;
    const control = await serveControl(controlDirectory, name, controlHandler(this));
    this.#control = control;
    await this.journal.announce({ socket: control.path });
  }

  /** Ends what the opening began, when it fails. */
  async abandon(): Promise<void> {
    for (const watch of this.#watches.splice(0)) watch[Symbol.dispose]();
    await this.#control?.[Symbol.asyncDispose]();
    await this.#loops.stop('the session could not be opened');
  }

  /** Closes the turns that the end of an earlier process left open, and returns their ids. */
  async closeOpenTurns(reason: string): Promise<readonly string[]> {
    const open = this.fold.openTurns;
    for (const { turn, loop } of open) {
      await this.#log.append({ type: 'TurnInterrupted', body: { turn, loop, reason }, loop });
    }
    return open.map(({ turn }) => turn);
  }

  /** Takes a checkpoint that belongs to the opening of the session. */
  async recordCheckpoint(
    request: Pick<CheckpointRequest, 'trigger' | 'cause' | 'base' | 'signal'>,
  ): Promise<Ref> {
    return await this.#require('checkpointWorkspace').runner.extra({ ...request, closesGate: false });
  }

  /** Restores the workspace as part of the opening of the session; `settles` ends the restore that was interrupted. */
  async bringBack(
    ref: Ref,
    options: CallOptions & { readonly settles?: boolean | undefined } = {},
  ): Promise<RestoreReceipt> {
    const { restorer } = this.#require('restoreWorkspace');
    return await restorer.restore(ref, { ...options, safety: false, opening: true });
  }

  /** @throws SessionClosedError, SessionFaultedError when no new work may start. */
  admit(): void {
    this.refuseClosed();
    const fault = this.faults.refusal();
    if (fault !== undefined) throw fault;
  }

  refuseClosed(): void {
    if (this.#closed) throw new SessionClosedError(this.id, 'closed');
    if (this.#closing.signal.aborted) throw new SessionClosedError(this.id, 'closing');
  }

  async submit(input: JsonValue, options: SubmitOptions): Promise<Submission> {
    throwIfAborted(options.signal);
    this.admit();
    const loop = this.#loops.find(options.loop);
    this.#log.check({ type: 'TurnStarted', body: { turn: 'turn', loop: loop.id, input } });
    return await Promise.resolve(loop.submit(input));
  }

  async interrupt(options: InterruptOptions): Promise<void> {
    throwIfAborted(options.signal);
    const stopped = this.#loops.interrupt(options.loop, options.reason ?? 'interrupted');
    await abandonOnAbort(options.signal, stopped);
  }

  events(options: EventsOptions): AsyncIterable<SessionEvent> {
    return this.#followers.read(options);
  }

  state(): SessionState {
    return { phase: this.phase, fault: this.faults.fault, loops: this.#loops.states };
  }

  observe(listener: NoticeListener): Disposable {
    return this.#notices.observe(listener);
  }

  async checkpoints(options: CallOptions): Promise<readonly SessionCheckpoint[]> {
    const checkpoints = await this.journal.checkpoints(options);
    return checkpoints.map((checkpoint) => ({ ...checkpoint, ref: parseRef(checkpoint.ref) }));
  }

  async checkpointWorkspace(options: CallOptions): Promise<Ref> {
    throwIfAborted(options.signal);
    return await this.#require('checkpointWorkspace').runner.manual(options.signal);
  }

  async previewRestore(ref: Ref, options: Parameters<RestoreRunner['preview']>[1]): Promise<RestorePlan> {
    return await this.#require('previewRestore').restorer.preview(ref, options);
  }

  async restoreWorkspace(
    ref: Ref,
    options: Parameters<RestoreRunner['restore']>[1],
  ): Promise<RestoreReceipt> {
    throwIfAborted(options?.signal);
    return await this.#require('restoreWorkspace').restorer.restore(ref, options);
  }

  async boundary(kind: BoundaryKind, options: BoundaryOptions): Promise<BoundaryResult> {
    this.admit();
    const { cause = {} } = options;
    const loop = cause.loop ?? 'application';
    const turn = cause.turn ?? `turn-${randomHex(this.#parts.random, 8)}`;
    const step = cause.step ?? 1;
    this.#log.check({ type: 'StepDone', body: { turn, loop, step } });
    switch (kind) {
      case 'step-done':
        return await this.#boundaries.stepDone({ turn, loop, step });
      case 'turn-done':
        return await this.#boundaries.turnEnded({ status: 'done', turn, loop, output: undefined });
      case 'idle':
        return await this.#boundaries.idle(loop);
    }
  }

  /** @throws WorkspaceNotConfiguredError before anything else happens. */
  requireWorkspace(operation: string): RuntimeWorkspace {
    return this.#require(operation).workspace;
  }

  get parts(): RuntimeParts {
    return this.#parts;
  }

  shutdown(): Promise<void> {
    this.#shutdown ??= this.#close();
    return this.#shutdown;
  }

  // 1. Latch. 2. Callers from outside. 3. Loops. 4. A running restore. 5. Checkpoints. 6. Processes.
  // 7. SessionStopped. 8. Root lease. 9. Session lease, with the journal.
  async #close(): Promise<void> {
    const { clock, deadlines, workspace } = this.#parts;
    this.#closing.abort(new SessionClosedError(this.id, 'closing'));
    this.#notices.publish({ type: 'phase-changed', phase: 'closing' });
    const managed = this.#managed;
    const phases: PhaseWork[] = [
      { phase: 'control', run: async () => await this.#control?.[Symbol.asyncDispose]() },
      { phase: 'loops', run: async () => await this.#loops.stop('the session is shutting down') },
      { phase: 'restore', run: async (signal) => await managed?.restorer.close(signal) },
      { phase: 'checkpoints', run: async (signal) => await managed?.runner.close(signal) },
      { phase: 'processes', run: async (signal) => await this.#endProcesses(signal) },
      { phase: 'journal', run: async () => await this.#recordStop() },
      { phase: 'root-lease', run: async () => await workspace?.release() },
      { phase: 'session-lease', run: async () => await this.journal.close() },
    ];
    try {
      const limits = { ...defaultShutdownDeadlines, ...deadlines };
      await runPhases(this.id, phases, limits, clock);
    } finally {
      this.#closed = true;
      for (const watch of this.#watches.splice(0)) watch[Symbol.dispose]();
      this.#notices.publish({ type: 'phase-changed', phase: 'closed' });
      this.#parts.onClosed?.();
    }
  }

  async #endProcesses(signal: AbortSignal): Promise<void> {
    const coordinator = this.#parts.workspace?.coordinator;
    if (coordinator === undefined) return;
    await coordinator.close();
    await coordinator.drained({ signal });
  }

  async #recordStop(): Promise<void> {
    try {
      // What lost its right to write must not write, not even its end.
      if (this.faults.refusal('terminal') !== undefined || this.journal.signal.aborted) return;
      await this.#log.append({ type: 'SessionStopped', body: {} });
    } finally {
      await this.#followers.end(this.#parts.clock);
    }
  }

  #watchLeases(): void {
    const watch = (signal: AbortSignal | undefined): void => {
      if (signal === undefined) return;
      const watching = onAbort(signal, (reason) => {
        if (!this.#closed && !this.#closing.signal.aborted) this.faults.terminal('lease-lost', reason);
      });
      this.#watches.push(watching);
    };
    watch(this.journal.signal);
    watch(this.#parts.workspace?.leaseSignal);
    this.#watches.push(
      this.faults.onChange(() => {
        this.#notices.publish({ type: 'fault-changed', fault: this.faults.fault });
      }),
    );
  }

  async #becomeActive(): Promise<void> {
    this.#notices.publish({ type: 'phase-changed', phase: 'active' });
    await this.#log.append({ type: 'SessionActive', body: {} });
  }

  async #becomeIdle(): Promise<void> {
    try {
      await this.#boundaries.idle();
    } catch {
      // The fault that this led to tells; nobody waits for the end of the last turn's session-wide echo.
    }
    this.#notices.publish({ type: 'phase-changed', phase: this.phase });
  }

  #require(operation: string): ManagedWorkspace {
    if (this.#managed === undefined) throw new WorkspaceNotConfiguredError(this.id, operation);
    return this.#managed;
  }
}

import { type Clock, isHoldfastError } from '@holdfast/base';
import { CoordinatorClosedError, type Permit, PermitUnavailableError } from '@holdfast/coordinator';
import type {
  Appended,
  CheckpointCause,
  CheckpointTrigger,
  EventInput,
  SessionJournal,
} from '@holdfast/journal';
import { type Ref, type SnapshotResult, tryParseRef } from '@holdfast/workspacestore';

import { CheckpointError, type CheckpointErrorKind } from '../errors.js';
import type { FaultLatch } from '../fault.js';
import type { SessionWorkspace } from '../workspace.js';
import { Cancellation } from './cancellation.js';
import { eventFailure } from './event-failure.js';
import type { EventLog } from './event-log.js';
import type { ExecutionGate } from './execution-gate.js';
import type { Notices } from './notices.js';

/** What a checkpoint needs of its session. */
export interface CheckpointHost {
  readonly sessionId: string;
  readonly workspace: SessionWorkspace;
  readonly journal: SessionJournal;
  readonly log: EventLog;
  readonly gate: ExecutionGate;
  readonly faults: FaultLatch;
  readonly notices: Notices;
  readonly clock: Clock;
}

/** One checkpoint to be taken. */
export interface CheckpointRequest {
  readonly trigger: CheckpointTrigger;
  readonly cause?: CheckpointCause | undefined;
  /** The event that triggers it, appended under the permit; its id becomes `cause.event`. */
  readonly triggerEvent?: EventInput | undefined;
  /** Keeps model calls out from before the permit until after the event. */
  readonly closesGate: boolean;
  /** What the tree is expected to equal; default: what the journal holds as current. */
  readonly base?: Ref | undefined;
  /** The permit that the caller holds already. */
  readonly permit?: Permit | undefined;
  /** Throws when the session is no longer in a state for it; called when everybody else is out. */
  readonly recheck?: (() => void) | undefined;
  readonly onPermit?: (() => void) | undefined;
  /** Called when somebody has to wait for the permit. */
  readonly onContended?: (() => void) | undefined;
  readonly onTriggered?: ((event: Appended) => void) | undefined;
  /** Milliseconds for all of it. */
  readonly timeout?: number | undefined;
  /** The caller's. */
  readonly signal?: AbortSignal | undefined;
  /** The library's own, besides faults and lost leases. */
  readonly cancel?: AbortSignal | undefined;
}

/** A checkpoint that is in the journal. */
export interface CommittedCheckpoint {
  readonly ref: Ref;
  /** Record of `WorkspaceCheckpointed`. */
  readonly event: Appended;
  /** Record of the trigger event. */
  readonly triggerEvent: Appended | undefined;
}

/** Takes checkpoints, one request at a time; order and policy are the runner's business. */
export class CheckpointTransaction {
  readonly #host: CheckpointHost;

  constructor(host: CheckpointHost) {
    this.#host = host;
  }

  /**
   * Takes one checkpoint. The caller's abort rejects with its reason; it has no effect once the snapshot is being
   * recorded. The trigger event is recorded whatever becomes of the snapshot.
   * @throws CheckpointError.
   */
  async run(request: CheckpointRequest): Promise<CommittedCheckpoint> {
    const { clock, faults, journal, notices, workspace } = this.#host;
    const started = clock.monotonic();
    const trigger = new TriggerEvent(this.#host.log, request);
    using cancellation = new Cancellation({
      clock,
      caller: request.signal,
      library: [faults.terminalSignal, journal.signal, workspace.leaseSignal, request.cancel],
      timeout: request.timeout,
    });
    notices.publish({ type: 'checkpoint-started', trigger: request.trigger });
    const progress: Progress = { step: 'before' };
    try {
      return await this.#commit(request, trigger, cancellation.signal, progress, started);
    } catch (error) {
      const failure = this.#explain(request, error, cancellation, progress);
      await this.#recordFailure(request, trigger, failure, clock.monotonic() - started);
      throw failure;
    }
  }

  // 1. Gate. 2. Permit. 3. Look at the session and the leases again. 4. Record what triggered it. 5. Snapshot, durable.
  // 6. Leases again, then append the event. 7. Tell the store that the event is durable, release.
  async #commit(
    request: CheckpointRequest,
    trigger: TriggerEvent,
    signal: AbortSignal,
    progress: Progress,
    started: number,
  ): Promise<CommittedCheckpoint> {
    const { clock, gate, log, notices, workspace } = this.#host;
    using _gate = request.closesGate ? await gate.close(signal) : undefined;
    using _permit = request.permit === undefined ? await this.#permit(request, signal) : undefined;
    request.recheck?.();
    await workspace.coordinator.healthy({ signal });
    request.onPermit?.();
    progress.step = 'trigger';
    await trigger.append();
    progress.step = 'snapshot';
    const snapshot = await this.#snapshot(request, signal);
    const cause = trigger.cause;
    await workspace.coordinator.healthy({ signal });
    progress.step = 'append';
    const event = await log.append({
      type: 'WorkspaceCheckpointed',
      body: {
        ref: snapshot.ref,
        hold: snapshot.hold,
        consistency: workspace.consistency,
        trigger: request.trigger,
        ...(cause === undefined ? {} : { cause }),
        stats: snapshot.stats,
        coverage: snapshot.coverage,
      },
    });
    workspace.store.release(snapshot.hold);
    if (request.trigger !== 'safety') workspace.writes?.settle(snapshot.ref);
    notices.publish({
      type: 'checkpoint-finished',
      trigger: request.trigger,
      ref: snapshot.ref,
      cause,
      durationMs: clock.monotonic() - started,
      filesRead: snapshot.stats.filesRead,
      bytesStored: snapshot.stats.bytesStored,
    });
    return { ref: snapshot.ref, event, triggerEvent: trigger.appended };
  }

  async #permit(request: CheckpointRequest, signal: AbortSignal): Promise<Permit> {
    const note = `checkpoint (${request.trigger})`;
    return await this.#host.workspace.coordinator.acquire(
      { operation: 'checkpoint' },
      { holder: { note }, onContended: request.onContended, signal },
    );
  }

  async #snapshot(request: CheckpointRequest, signal: AbortSignal): Promise<SnapshotResult> {
    const { base: expected, trigger } = request;
    const { journal, notices, workspace } = this.#host;
    const base = expected ?? tryParseRef(journal.fold.currentWorkspace?.ref);
    return await workspace.store.snapshot(workspace.root, {
      ...workspace.capture,
      quiescent: workspace.consistency === 'quiescent',
      base,
      signal,
      onProgress: (progress) => {
        notices.publish({ type: 'checkpoint-progress', trigger, progress });
      },
    });
  }

  #explain(
    request: CheckpointRequest,
    error: unknown,
    cancellation: Cancellation,
    progress: Progress,
  ): unknown {
    const by = cancellation.causeOf(error);
    if (by === 'caller' || CheckpointError.is(error)) return error;
    const kind =
      by === undefined ? kindOfFailure(error, progress) : by === 'timeout' ? 'timeout' : 'canceled';
    const detail = error instanceof Error ? error.message : String(error);
    return new CheckpointError(kind, this.#host.sessionId, request.trigger, detail, { cause: error });
  }

  async #recordFailure(
    request: CheckpointRequest,
    trigger: TriggerEvent,
    failure: unknown,
    durationMs: number,
  ): Promise<void> {
    const { faults, log, notices } = this.#host;
    const error = eventFailure(failure);
    notices.publish({ type: 'checkpoint-failed', trigger: request.trigger, error, durationMs });
    if (faults.refusal('terminal') !== undefined) return;
    await trigger.append();
    // Who gave up by himself, or was refused before anything began, needs no record of it.
    if (!CheckpointError.is(failure) || failure.kind === 'not-idle') return;
    const { cause } = trigger;
    await log.note({
      type: 'WorkspaceCheckpointFailed',
      body: { trigger: request.trigger, ...(cause === undefined ? {} : { cause }), error, durationMs },
    });
  }
}

interface Progress {
  step: 'before' | 'trigger' | 'snapshot' | 'append';
}

function kindOfFailure(error: unknown, progress: Progress): CheckpointErrorKind {
  if (progress.step === 'trigger') return 'trigger-append-failed';
  if (progress.step === 'append') return 'append-failed';
  if (PermitUnavailableError.is(error) || CoordinatorClosedError.is(error)) return 'unavailable';
  if (isHoldfastError(error) && error.code === 'SESSION_FAULTED') return 'faulted';
  return 'failed';
}

/** The event that triggered a checkpoint: appended once, whatever happens. */
class TriggerEvent {
  readonly #log: EventLog;
  readonly #request: CheckpointRequest;
  #appended: Appended | undefined;

  constructor(log: EventLog, request: CheckpointRequest) {
    this.#log = log;
    this.#request = request;
  }

  get appended(): Appended | undefined {
    return this.#appended;
  }

  get cause(): CheckpointCause | undefined {
    const { cause } = this.#request;
    return this.#appended === undefined ? cause : { ...cause, event: this.#appended.id };
  }

  async append(): Promise<void> {
    const { triggerEvent } = this.#request;
    if (triggerEvent === undefined || this.#appended !== undefined) return;
    this.#appended = await this.#log.append(triggerEvent);
    this.#request.onTriggered?.(this.#appended);
  }
}

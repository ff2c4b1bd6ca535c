import { type Clock, type JsonValue, type Random, randomHex, throwIfAborted } from '@holdfast/base';
import { type Permit, PermitUnavailableError } from '@holdfast/coordinator';
import {
  applyRestore,
  type ForeignChanges,
  type HostLock,
  previewRestore,
  type RestoreJournal,
  type RestorePlan,
  type RestoreReceipt,
  type RootIdentity,
  WorkspaceRestoreError,
} from '@holdfast/restore';
import {
  CollectedError,
  InvalidRefError,
  parseRef,
  type Ref,
  RefNotFoundError,
  type Tree,
  tryParseRef,
} from '@holdfast/workspacestore';

import { SessionClosedError } from '../errors.js';
import type { PreviewRestoreOptions, RestoreWorkspaceOptions } from '../restore-options.js';
import type { OwnWrites } from '../write-tracker.js';
import { Cancellation } from './cancellation.js';
import type { CheckpointRunner } from './checkpoint-runner.js';
import type { CheckpointHost } from './checkpoint-transaction.js';
import { eventFailure } from './event-failure.js';
import { explainFailure, withStoreError } from './restore-failures.js';
import type { RewindRecord } from './restore-record.js';
import { sessionRestoreJournal, settlingRestoreJournal } from './session-restore-journal.js';

/** What a restore needs of its session. */
export interface RestoreHost extends CheckpointHost {
  readonly runner: CheckpointRunner;
  readonly clock: Clock;
  readonly random: Random;
  readonly isIdle: () => boolean;
  readonly isClosing: () => boolean;
  /** Tells observers that a restore began or ended. */
  readonly phaseChanged: () => void;
  /** Drops what every loop has seen of the files. */
  readonly forgetObservations: () => void;
  /** The running process, for the intent. */
  readonly owner: JsonValue;
  /** The same in one word, for the journal. */
  readonly hostName: string | undefined;
  readonly hostLock: HostLock;
  readonly rootIdentity: () => RootIdentity | undefined;
  readonly retakeRoot: () => void;
}

interface PreviewCall extends PreviewRestoreOptions {
  /** What the restore brought that this one takes back: directories and links of it go too, unless `prune` is given. */
  readonly undoes?: Ref | undefined;
}

interface RestoreCall extends RestoreWorkspaceOptions, PreviewCall {
  readonly rewind?: RewindRecord | undefined;
  /** While a session is opened nothing runs yet and nobody is to be kept out. */
  readonly opening?: boolean | undefined;
  /** Ends the session's open restore, which was interrupted, in place of beginning one of its own. */
  readonly settles?: boolean | undefined;
}

/** What is known when a restore is applied. */
interface PreparedRestore {
  readonly ref: Ref;
  readonly restoreId: string;
  readonly safetyRef: Ref | undefined;
  readonly foreign: ForeignChanges | undefined;
}

/** Restores the workspace, one restore after another. */
export class RestoreRunner {
  readonly #host: RestoreHost;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(host: RestoreHost) {
    this.#host = host;
  }

  /** Whether a restore runs or waits. */
  get running(): boolean {
    return this.#running.size > 0;
  }

  /** Says what a restore would do; writes nothing. */
  async preview(ref: unknown, options: PreviewCall = {}): Promise<RestorePlan> {
    throwIfAborted(options.signal);
    const { workspace } = this.#host;
    const target = this.#parse(ref);
    try {
      return await previewRestore(workspace.store, target, workspace.root, {
        ...this.#planOptions(options),
        foreign: await this.#foreign(workspace.writes?.known(), options.signal),
        restored: await this.#restored(options, options.signal),
        signal: options.signal,
      });
    } catch (error) {
      throwIfAborted(options.signal);
      throw withStoreError(error, target, workspace.root);
    }
  }

  /** Brings the workspace to `ref`. Point of no return: the commit of the strategy. */
  async restore(ref: unknown, options: RestoreCall = {}): Promise<RestoreReceipt> {
    this.#refuse(options);
    const work = this.#restore(this.#parse(ref), options);
    this.#running.add(work);
    this.#host.phaseChanged();
    try {
      return await work;
    } finally {
      this.#running.delete(work);
      this.#host.phaseChanged();
    }
  }

  /** Waits for a running restore until `signal` aborts, then cancels it, which has no effect once it commits. */
  async close(signal: AbortSignal): Promise<void> {
    const cancel = (): void => {
      this.#ending.abort(new SessionClosedError(this.#host.sessionId, 'closing'));
    };
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel, { once: true });
    await Promise.allSettled([...this.#running]);
    signal.removeEventListener('abort', cancel);
  }

  // 1. Suspend the admission of processes. 2. Close the gate, drain writers. 3. Look at the session and the leases again.
  // 4. Checkpoint the present tree. 5. Plan, stage, commit and record (`@holdfast/restore`, with the journal's records
  // before and after). 6. Drop what loops have seen. Everything is let go on every path.
  async #restore(ref: Ref, options: RestoreCall): Promise<RestoreReceipt> {
    const { clock, faults, journal, notices, runner, workspace } = this.#host;
    const restoreId = randomHex(this.#host.random, 16);
    const started = clock.monotonic();
    using cancellation = new Cancellation({
      clock,
      caller: options.signal,
      library: [faults.terminalSignal, journal.signal, workspace.leaseSignal, this.#ending.signal],
    });
    notices.publish({ type: 'restore-started', restoreId, ref });
    try {
      using _admission = workspace.coordinator.suspendAdmission({ note: `restore ${restoreId}` });
      await runner.clearBackground('a restore');
      using _gate = await this.#closeGate(options, cancellation.signal);
      using permit = await this.#permit(options, restoreId, cancellation.signal);
      this.#refuse(options);
      await workspace.coordinator.healthy({ signal: cancellation.signal });
      const writes = workspace.writes?.known();
      const safetyRef =
        options.safety === false ? undefined : await this.#safety(restoreId, permit, options, cancellation);
      const receipt = await this.#apply(
        { ref, restoreId, safetyRef, foreign: await this.#foreign(writes, cancellation.signal) },
        options,
        cancellation.signal,
      );
      notices.publish({
        type: 'restore-finished',
        restoreId,
        ref,
        durationMs: clock.monotonic() - started,
        bytesWritten: receipt.bytesWritten,
      });
      return receipt;
    } catch (error) {
      const failure = explainFailure(error, { root: workspace.root, ref, restoreId }, cancellation);
      if (WorkspaceRestoreError.is(failure) && failure.kind === 'rollback-failed') {
        faults.terminal('rollback-failed', failure);
      }
      const durationMs = clock.monotonic() - started;
      notices.publish({ type: 'restore-failed', restoreId, ref, error: eventFailure(failure), durationMs });
      throw failure;
    } finally {
      this.#host.forgetObservations();
    }
  }

  async #apply(
    prepared: PreparedRestore,
    options: RestoreCall,
    signal: AbortSignal,
  ): Promise<RestoreReceipt> {
    const { ref, restoreId, safetyRef, foreign } = prepared;
    const { hostLock, journal, owner, workspace } = this.#host;
    const { coordinator } = workspace;
    const receipt = await applyRestore(workspace.store, ref, workspace.root, {
      ...this.#planOptions(options),
      foreign,
      restored: await this.#restored(options, signal),
      plan: options.plan,
      verify: options.verify,
      session: journal.id,
      epoch: journal.epoch,
      owner,
      hostLock,
      restoreId,
      safetyRef,
      previousRef: tryParseRef(journal.fold.currentWorkspace?.ref),
      rootIdentity: this.#host.rootIdentity(),
      journal: this.#journalFor(options),
      settled: (other) => journal.fold.openRestore?.restoreId !== other,
      health: async () => {
        await coordinator.healthy();
      },
      occupied: () => coordinator.inspect().active.some(({ operation }) => operation === 'lifetime'),
      clock: this.#host.clock,
      random: this.#host.random,
      signal,
      onStep: (step) => {
        this.#host.notices.publish({ type: 'restore-progress', restoreId, step });
      },
    });
    this.#host.retakeRoot();
    workspace.writes?.settle(ref);
    return receipt;
  }

  async #closeGate(options: RestoreCall, signal: AbortSignal): Promise<Disposable | undefined> {
    if (options.opening === true) return undefined;
    const { clock, gate, workspace } = this.#host;
    if (options.drain === 'fail') {
      const place = gate.tryClose();
      if (place !== undefined) return place;
      throw new PermitUnavailableError('busy', 'checkpoint', activeHolders(workspace.coordinator.inspect()));
    }
    using limit = new Cancellation({ clock, caller: signal, timeout: options.timeout });
    try {
      return await gate.close(limit.signal);
    } catch (error) {
      if (limit.causeOf(error) !== 'timeout') throw error;
      throw new PermitUnavailableError(
        'timeout',
        'checkpoint',
        activeHolders(workspace.coordinator.inspect()),
      );
    }
  }

  async #permit(options: RestoreCall, restoreId: string, signal: AbortSignal): Promise<Permit> {
    return await this.#host.workspace.coordinator.acquire(
      { operation: 'checkpoint' },
      { holder: { note: `restore ${restoreId}` }, drain: options.drain, timeout: options.timeout, signal },
    );
  }

  async #foreign(
    writes: OwnWrites | undefined,
    signal: AbortSignal | undefined,
  ): Promise<ForeignChanges | undefined> {
    if (writes === undefined) return undefined;
    const { store } = this.#host.workspace;
    return {
      last: await store.openTree(writes.since, { signal }),
      wrote: (path) => writes.wrote(path),
    };
  }

  /** What the restore that is taken back brought; without it, only files are pruned. */
  async #restored(options: PreviewCall, signal: AbortSignal | undefined): Promise<Tree | undefined> {
    if (options.undoes === undefined || options.prune !== undefined) return undefined;
    try {
      return await this.#host.workspace.store.openTree(options.undoes, { signal });
    } catch (error) {
      // Collected meanwhile: what it replaced is kept longer.
      if (RefNotFoundError.is(error) || CollectedError.is(error)) return undefined;
      throw error;
    }
  }

  async #safety(
    restoreId: string,
    permit: Permit,
    options: RestoreCall,
    cancellation: Cancellation,
  ): Promise<Ref> {
    try {
      return await this.#host.runner.extra({
        trigger: 'safety',
        cause: { restore: restoreId },
        closesGate: false,
        permit,
        signal: options.signal,
        cancel: cancellation.signal,
      });
    } catch (error) {
      if (cancellation.signal.aborted) throw cancellation.signal.reason;
      throw new WorkspaceRestoreError(
        'safety-failed',
        'the present tree could not be checkpointed first; remove the cause, or pass safety: false to give up the undo',
        { root: this.#host.workspace.root, restoreId, cause: error },
      );
    }
  }

  #journalFor(options: RestoreCall): RestoreJournal {
    const { faults, hostName, journal, log } = this.#host;
    const open = journal.fold.openRestore;
    if (options.settles === true && open !== undefined) return settlingRestoreJournal(log, open);
    return sessionRestoreJournal({
      journal,
      log,
      faults,
      host: hostName,
      rewind: options.rewind,
      treeKey: async () => await this.#treeKey(),
    });
  }

  async #treeKey(): Promise<string | undefined> {
    const { workspace } = this.#host;
    try {
      return (await workspace.store.scan(workspace.root, workspace.capture)).treeKey;
    } catch {
      return undefined;
    }
  }

  /** @throws WorkspaceRestoreError when the session's state forbids a restore. */
  #refuse(options: RestoreCall): void {
    throwIfAborted(options.signal);
    const { faults, isClosing, isIdle, sessionId, workspace } = this.#host;
    const { root } = workspace;
    if (isClosing()) {
      const cause = new SessionClosedError(sessionId, 'closing');
      throw new WorkspaceRestoreError('closing', cause.message, { root, cause });
    }
    const fault = faults.refusal();
    if (fault !== undefined)
      throw new WorkspaceRestoreError('faulted', fault.message, { root, cause: fault });
    if (options.opening !== true && !isIdle()) {
      throw new WorkspaceRestoreError('not-idle', 'a turn is running: interrupt it or wait for its end', {
        root,
      });
    }
  }

  #parse(ref: unknown): Ref {
    try {
      return parseRef(ref);
    } catch (error) {
      if (!InvalidRefError.is(error)) throw error;
      throw new WorkspaceRestoreError('invalid-ref', error.message, {
        root: this.#host.workspace.root,
        ref: error.value,
        cause: error,
      });
    }
  }

  #planOptions(options: PreviewRestoreOptions): PreviewRestoreOptions & {
    readonly strategy: NonNullable<PreviewRestoreOptions['strategy']>;
    readonly scratch: RestoreHost['workspace']['scratch'];
    readonly scan: RestoreHost['workspace']['capture'];
  } {
    const { workspace } = this.#host;
    const { paths, prune, onConflict, force } = options;
    return {
      paths,
      prune,
      onConflict,
      force,
      strategy: options.strategy ?? workspace.strategy,
      scratch: workspace.scratch,
      scan: workspace.capture,
    };
  }
}

function activeHolders(report: ReturnType<CheckpointHost['workspace']['coordinator']['inspect']>): {
  readonly id: number;
  readonly operation: string;
  readonly since: number;
}[] {
  return report.active.map(({ id, operation, since }) => ({ id, operation, since }));
}

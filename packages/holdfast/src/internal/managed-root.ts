import {
  type Clock,
  DisposalStack,
  type Random,
  randomHex,
  sha256Hex,
  systemClock,
  systemRandom,
} from '@holdfast/base';
import type {
  LocalCaptureOptions,
  LocalRestoreOptions,
  LocalRoot,
  LocalSnapshotOptions,
  OpenRootOptions,
} from '@holdfast/cli';
import { type CheckpointTrigger, type SessionJournal, type SessionStore } from '@holdfast/journal';
import { type Lease, LeaseHeldError, type Leaser } from '@holdfast/lease';
import { processIdentity } from '@holdfast/lease/fs';
import {
  applyRestore,
  insideScratchName,
  previewRestore,
  type RecoveryResult,
  type RestorePlan,
  type RestoreReceipt,
  reconcile,
  type ScratchPlacement,
  WorkspaceRestoreError,
} from '@holdfast/restore';
import { acquireRootLease, refuseNestedRoots, rootLock, WorkspaceRootBusyError } from '@holdfast/rig';
import { type Ref, type SnapshotResult, tryParseRef, type WorkspaceStore } from '@holdfast/workspacestore';
import { appendCheckpoint } from './append-checkpoint.js';
import { openOrCreate } from './open-or-create.js';
import { recoverRoot } from './recover-root.js';
import { rootRestoreJournal } from './root-restore-journal.js';

/** What a managed root is opened over. */
export interface ManagedRootParts {
  /** Absolute, canonical. */
  readonly root: string;
  readonly leaser: Leaser;
  /** The local journals of roots. */
  readonly journals: SessionStore;
  readonly store: WorkspaceStore;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/**
 * Opens a directory for the bare commands, without a session of its own.
 *
 * 1. Take the root's lease, the one that exclusive sessions take. 2. Open the root's local journal, which keeps its refs
 * alive. 3. Recover what an interrupted restore left, and bring journal and disk in line. Anything else comes after.
 *
 * @throws WorkspaceRootBusyError while a session or another command has the root.
 */
export async function openManagedRoot(
  parts: ManagedRootParts,
  options: OpenRootOptions = {},
): Promise<LocalRoot> {
  await using building = new DisposalStack();
  const lease = await takeRootLease(parts, options);
  building.defer(() => lease.release());
  const journal = await openOrCreate(parts.journals, sha256Hex(new TextEncoder().encode(parts.root)), {
    title: parts.root,
    signal: options.signal,
  });
  building.defer(() => journal.close());
  const recovered = await recoverRoot({
    root: parts.root,
    store: parts.store,
    journal,
    clock: parts.clock,
    signal: options.signal,
  });
  return new ManagedRoot(parts, options.scratch ?? 'sibling', lease, journal, recovered, building.move());
}

async function takeRootLease(parts: ManagedRootParts, options: OpenRootOptions): Promise<Lease> {
  try {
    return await acquireRootLease(parts.leaser, parts.root, {
      owner: processIdentity(),
      clock: parts.clock ?? systemClock,
      signal: options.signal,
    });
  } catch (error) {
    if (!LeaseHeldError.is(error)) throw error;
    throw new WorkspaceRootBusyError(parts.root, error.holderEpoch, error.owner, { cause: error });
  }
}

class ManagedRoot implements LocalRoot {
  readonly root: string;
  readonly recovered: RecoveryResult;
  readonly #parts: ManagedRootParts;
  readonly #scratch: ScratchPlacement;
  readonly #lease: Lease;
  readonly #journal: SessionJournal;
  readonly #resources: DisposalStack;

  constructor(
    parts: ManagedRootParts,
    scratch: ScratchPlacement,
    lease: Lease,
    journal: SessionJournal,
    recovered: RecoveryResult,
    resources: DisposalStack,
  ) {
    this.root = parts.root;
    this.recovered = recovered;
    this.#parts = parts;
    this.#scratch = scratch;
    this.#lease = lease;
    this.#journal = journal;
    this.#resources = resources;
  }

  async snapshot(options: LocalSnapshotOptions = {}): Promise<SnapshotResult> {
    return await this.#checkpoint('manual', undefined, options);
  }

  async preview(ref: Ref, options: LocalRestoreOptions = {}): Promise<RestorePlan> {
    return await previewRestore(this.#parts.store, ref, this.root, {
      ...this.#planOptions(options),
      signal: options.signal,
    });
  }

  // 1. Refuse while a root in this one, or around it, is live. 2. Safety checkpoint. 3. Plan, stage, commit and record, as `applyRestore` orders it.
  async restore(
    ref: Ref,
    options: LocalRestoreOptions & { readonly plan?: RestorePlan | undefined } = {},
  ): Promise<RestoreReceipt> {
    const { random = systemRandom, clock = systemClock, leaser, store } = this.#parts;
    await refuseNestedRoots(leaser, this.root, { clock, signal: options.signal });
    const restoreId = randomHex(random, 16);
    const previousRef = tryParseRef(this.#journal.fold.currentWorkspace?.ref);
    const safetyRef = options.safety === false ? undefined : await this.#safety(restoreId, options);
    return await applyRestore(store, ref, this.root, {
      ...this.#planOptions(options),
      plan: options.plan,
      session: this.#journal.id,
      epoch: this.#journal.epoch,
      owner: processIdentity(),
      hostLock: rootLock(this.root, { clock, signal: options.signal }),
      journal: rootRestoreJournal(this.#journal),
      health: () => this.#lease.check(),
      settled: (other) => this.#journal.fold.openRestore?.restoreId !== other,
      restoreId,
      safetyRef,
      previousRef,
      clock,
      random,
      signal: options.signal,
    });
  }

  async close(): Promise<void> {
    await this.#resources.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #safety(restoreId: string, options: LocalCaptureOptions): Promise<Ref> {
    try {
      return (await this.#checkpoint('safety', { restore: restoreId }, options)).ref;
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new WorkspaceRestoreError(
        'safety-failed',
        'the present tree could not be checkpointed first; remove the cause, or pass --no-safety to give up the undo',
        { root: this.root, restoreId, cause: error },
      );
    }
  }

  async #checkpoint(
    trigger: CheckpointTrigger,
    cause: { readonly restore: string } | undefined,
    options: LocalCaptureOptions,
  ): Promise<SnapshotResult> {
    const { store } = this.#parts;
    const base = tryParseRef(this.#journal.fold.currentWorkspace?.ref);
    const result = await store.snapshot(this.root, {
      ...captureOf(options),
      base,
      onProgress: options.onProgress,
      signal: options.signal,
    });
    await this.#lease.check({ signal: options.signal });
    // Nothing keeps other processes from writing while a bare command scans.
    await appendCheckpoint(this.#journal, store, result, { trigger, cause, consistency: 'fuzzy' });
    return result;
  }

  #planOptions(options: LocalRestoreOptions) {
    const { paths, prune, onConflict, force } = options;
    return {
      paths,
      prune,
      onConflict,
      force,
      strategy: reconcile(),
      scratch: this.#scratch,
      scan: captureOf(options),
      clock: this.#parts.clock ?? systemClock,
    };
  }
}

function captureOf({ ignore, maxFileSize, onUnreadable }: LocalCaptureOptions) {
  return {
    reserved: [insideScratchName],
    ...(ignore === undefined ? {} : { ignore }),
    ...(maxFileSize === undefined ? {} : { limits: { fileBytes: maxFileSize } }),
    ...(onUnreadable === undefined ? {} : { onUnreadable }),
  };
}

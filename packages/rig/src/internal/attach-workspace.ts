import { type Clock, DisposalStack, InvalidNameError, type JsonValue } from '@holdfast/base';
import { Coordinator, parseCanonicalPath } from '@holdfast/coordinator';
import type { SessionJournal } from '@holdfast/journal';
import { type Lease, LeaseHeldError, type LeaseOwner } from '@holdfast/lease';
import {
  insideScratchName,
  type RecoveryResult,
  type RootIdentity,
  reconcile,
  recover,
  swap,
} from '@holdfast/restore';
import {
  type PlacementCapture,
  type RuntimeWorkspace,
  type SnapshotPolicy,
  WriteTracker,
} from '@holdfast/session';

import { WorkspacePlacementError, WorkspaceRootBusyError } from '../errors.js';
import type { ExclusivePlacement } from '../placement.js';
import { rootLock } from '../root-lock.js';
import { hasScratch } from './has-scratch.js';
import { claimLiveRoot, refuseNestedRoots } from './nested-roots.js';
import { hostName, ownerLiveness, processOwner } from './process-owner.js';
import type { ResolvedPlacement } from './resolve-placement.js';
import { RootDirectory } from './root-directory.js';
import { acquireRootLease } from './root-lease.js';

export interface AttachOptions {
  readonly journal: SessionJournal;
  readonly placement: ResolvedPlacement;
  readonly policy: SnapshotPolicy;
  readonly owner: LeaseOwner;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/** A workspace whose root's lease is held and whose interrupted restores are settled on the disk. */
export interface AttachedWorkspace extends RuntimeWorkspace {
  readonly directory: RootDirectory;
  /** Names in the root that are ours. */
  readonly reservedNames: readonly string[];
  readonly recovery: RecoveryResult;
  /**
   * Looks for nested roots once more, when this one can be seen by others. @throws WorkspaceRootNestedError
   */
  readonly refuseNested: (signal: AbortSignal | undefined) => Promise<void>;
  /** The root may be made when it is missing. */
  readonly mayCreateRoot: boolean;
  /** What stands in the root when a session begins there is checkpointed. */
  readonly baseline: boolean;
}

/** Names in a root that belong to restores with scratch inside it. */
const reservedNames: readonly string[] = Object.freeze([insideScratchName]);

/** The root of a session under a placement. */
export function rootOf(placement: ResolvedPlacement, sessionId: string): string {
  return placement.placement.mode === 'per-session' ? `${placement.region}/${sessionId}` : placement.region;
}

/**
 * Takes the root: its lease, then the recovery of what restores left there, then the coordinator. Gives everything back
 * when a step fails.
 * @throws WorkspaceRootBusyError, WorkspaceRootNestedError; WorkspaceRestoreError (`recovery-refused`).
 */
export async function attachWorkspace(options: AttachOptions): Promise<AttachedWorkspace> {
  const { clock, journal, placement, policy, signal } = options;
  const { placement: described } = placement;
  const root = rootOf(placement, journal.id);
  const stack = new DisposalStack();
  try {
    const lease =
      described.mode === 'exclusive' ? await takeRoot(described, placement, options, stack) : undefined;
    const directory = new RootDirectory(root);
    const scratch = described.options.scratch ?? 'sibling';
    const hostLock = rootLock(root, { clock });
    const self = processOwner();
    const recovery = await recoverRoot(root, hostLock, self, clock, signal);
    if (described.mode !== 'shared') await directory.sweep();
    const writes = described.mode === 'shared' ? new WriteTracker(root) : undefined;
    const coordinator = stack.use(
      new Coordinator({
        clock,
        onGranted: (record) => writes?.granted(record),
        health: async (health) => {
          await journal.lease.check(health);
          await lease?.check(health);
        },
      }),
    );
    const taken = new TakenRoot(directory);
    const held = stack.move();
    return {
      mode: described.mode,
      root,
      scope: parseCanonicalPath(root),
      store: described.store,
      coordinator,
      consistency: described.mode === 'shared' ? 'fuzzy' : 'quiescent',
      capture: captureOf(described.options),
      strategy: described.options.strategy ?? (described.mode === 'per-session' ? swap() : reconcile()),
      scratch,
      writes,
      leaseSignal: lease?.signal,
      policy,
      owner: self,
      hostName: hostName(),
      hostLock,
      rootIdentity: () => taken.identity,
      retakeRoot: () => {
        taken.take();
      },
      release: async () => {
        await held.close();
      },
      directory,
      refuseNested: async (callSignal) => {
        if (described.mode !== 'exclusive') return;
        await refuseNestedRoots(described.leaser, root, { clock, signal: callSignal });
      },
      reservedNames,
      recovery,
      mayCreateRoot: described.mode === 'per-session' || described.options.create === true,
      baseline: described.mode !== 'per-session' && described.options.baseline !== false,
    };
  } catch (error) {
    await stack.close().catch(() => undefined);
    throw error;
  }
}

class TakenRoot {
  readonly #directory: RootDirectory;
  #identity: RootIdentity | undefined;

  constructor(directory: RootDirectory) {
    this.#directory = directory;
  }

  get identity(): RootIdentity | undefined {
    return this.#identity;
  }

  take(): void {
    this.#identity = this.#directory.identity();
  }
}

async function takeRoot(
  described: ExclusivePlacement,
  placement: ResolvedPlacement,
  options: AttachOptions,
  stack: DisposalStack,
): Promise<Lease> {
  const root = placement.region;
  const { clock, owner, signal } = options;
  stack.use(claimLiveRoot(described.leaser, root));
  let lease: Lease;
  try {
    lease = stack.use(await acquireRootLease(described.leaser, root, { owner, clock, signal }));
  } catch (error) {
    if (LeaseHeldError.is(error)) {
      throw new WorkspaceRootBusyError(root, error.holderEpoch, error.owner, { cause: error });
    }
    if (InvalidNameError.is(error)) {
      throw new WorkspacePlacementError('lease-name-invalid', error.message, { root, cause: error });
    }
    throw error;
  }
  await refuseNestedRoots(described.leaser, root, { clock, signal });
  return lease;
}

async function recoverRoot(
  root: string,
  hostLock: RuntimeWorkspace['hostLock'],
  self: JsonValue,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<RecoveryResult> {
  if (!hasScratch(root)) return { action: 'none' };
  return await recover(root, { isAlive: ownerLiveness, hostLock, self, clock, signal });
}

function captureOf(options: ResolvedPlacement['placement']['options']): PlacementCapture {
  const { ignore, limits, onUnreadable } = options;
  return { ignore, limits, onUnreadable, reserved: reservedNames };
}

/** The root is gone since the rig was defined. */
export function rootMissing(root: string): WorkspacePlacementError {
  return new WorkspacePlacementError('root-not-directory', `${root} does not exist any more`, { root });
}

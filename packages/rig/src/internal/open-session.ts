import { throwIfAborted } from '@holdfast/base';
import { type SessionJournal, SessionNotFoundError } from '@holdfast/journal';
import type { RestoreReceipt } from '@holdfast/restore';
import { type RuntimeParts, SessionRuntime } from '@holdfast/session';
import { parseRef, type Ref, tryParseRef } from '@holdfast/workspacestore';

import { WorkspaceDriftError, WorkspaceRelocatedError } from '../errors.js';
import { type DriftReport, type OpenedSession, openedSession } from '../opened-session.js';
import type { OpenSessionOptions } from '../session-options.js';
import { attachForSession } from './attach-for-session.js';
import { type AttachedWorkspace, rootMissing } from './attach-workspace.js';
import { type Drift, findDrift } from './drift.js';
import type { RigDefinition } from './rig-definition.js';
import { isStaleRoot, noteOwnership } from './root-ownership.js';
import { runtimeParts } from './runtime-parts.js';
import { sessionOwner } from './session-owner.js';
import { type Settlement, settleRestores } from './settle-restores.js';
import { UndoOpening } from './undo-opening.js';

/** What became of the files. */
interface BroughtUp {
  readonly drift: DriftReport | undefined;
  readonly materialized: Ref | undefined;
}

// 1. Session lease, fence, replay. 2. Root lease, recovery of the root. 3. The journal learns what recovery found.
// 4. The files are brought to what the placement wants, what they held is recorded first. 5. Turns that were left open
// are closed. 6. SessionRestored. 7. Loops. What fails lets go of the leases; what is in the journal stays.
export async function openSession(
  definition: RigDefinition,
  id: string,
  options: OpenSessionOptions,
  fork: RuntimeParts['fork'],
): Promise<OpenedSession> {
  throwIfAborted(options.signal);
  const { signal } = options;
  const { adopted, journal } = await openJournal(definition, id, options);
  const undo = new UndoOpening();
  undo.add(async () => await journal.close());
  try {
    refuseRelocated(definition, journal, options);
    const workspace = await attachForSession(definition, journal, options, undo);
    const runtime = new SessionRuntime(runtimeParts(definition, journal, workspace, fork));
    undo.add(async () => await runtime.abandon());
    if (workspace !== undefined) await refuseOtherStore(journal, workspace, options);
    const settled = workspace === undefined ? 'none' : await settleRestores(journal, workspace, signal);
    const files =
      workspace === undefined
        ? { drift: undefined, materialized: undefined }
        : await bringUp(runtime, workspace, settled, options);
    const interruptedTurns = await runtime.closeOpenTurns('the process of the session ended');
    if (adopted && workspace !== undefined) await recordAdopted(runtime, workspace, signal);
    await runtime.begin({
      type: 'SessionRestored',
      body: {
        ...(workspace === undefined ? {} : { placement: { mode: workspace.mode, root: workspace.root } }),
        ...(interruptedTurns.length === 0 ? {} : { interrupted: interruptedTurns }),
      },
    });
    await runtime.startLoops();
    const recovery = workspace?.recovery ?? { action: 'none' };
    return openedSession(runtime.controller, { recovery, interruptedTurns, ...files });
  } catch (error) {
    throw await undo.run(id, error);
  }
}

/** A lost journal is not an empty session: going on without it must be asked for. */
async function openJournal(
  definition: RigDefinition,
  id: string,
  options: OpenSessionOptions,
): Promise<{ readonly journal: SessionJournal; readonly adopted: boolean }> {
  const { signal } = options;
  const owner = sessionOwner(id, options.owner);
  const { sessionStore } = definition;
  try {
    return { journal: await sessionStore.open(id, { owner, signal }), adopted: false };
  } catch (error) {
    if (options.adopt !== true || !SessionNotFoundError.is(error)) throw error;
    return { journal: await sessionStore.create({ id, owner, signal }), adopted: true };
  }
}

/** What stands in the root of a session whose journal was lost is where its new journal begins. */
async function recordAdopted(
  runtime: SessionRuntime,
  workspace: AttachedWorkspace,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (workspace.directory.look(workspace.reservedNames) !== 'filled') return;
  await runtime.recordCheckpoint({ trigger: 'recovered', signal });
}

function refuseRelocated(
  definition: RigDefinition,
  journal: SessionJournal,
  options: OpenSessionOptions,
): void {
  const was = journal.fold.placement;
  if (was === undefined || options.relocate === true) return;
  const is = definition.placement;
  const mode = is?.placement.mode;
  const root =
    is === undefined ? undefined : mode === 'per-session' ? `${is.region}/${journal.id}` : is.region;
  if (was.mode === mode && was.root === root) return;
  const shown = is === undefined ? 'no workspace' : `${String(mode)} root ${String(root)}`;
  throw new WorkspaceRelocatedError(journal.id, `${was.mode} root ${was.root}`, shown);
}

/** A store that lacks the session's files cannot bring them back; the files themselves may still be there. */
async function refuseOtherStore(
  journal: SessionJournal,
  workspace: AttachedWorkspace,
  options: OpenSessionOptions,
): Promise<void> {
  const current = tryParseRef(journal.fold.currentWorkspace?.ref);
  if (current === undefined || (await workspace.store.has(current, { signal: options.signal }))) return;
  if (options.relocate === true && workspace.directory.look(workspace.reservedNames) === 'filled') return;
  throw new WorkspaceRelocatedError(journal.id, `a store that has ${current}`, 'a store without it');
}

async function bringUp(
  runtime: SessionRuntime,
  workspace: AttachedWorkspace,
  settled: Settlement,
  options: OpenSessionOptions,
): Promise<BroughtUp> {
  const { directory, mayCreateRoot, mode, reservedNames } = workspace;
  const { journal } = runtime;
  const current = tryParseRef(journal.fold.currentWorkspace?.ref);
  const known = current !== undefined && (await workspace.store.has(current, { signal: options.signal }));
  const found = directory.look(reservedNames);
  if (found === 'missing' && !mayCreateRoot) throw rootMissing(workspace.root);
  if (mode === 'shared') return await bringUpShared(workspace, journal, found, options);
  const stale = found === 'missing' ? false : await isStaleRoot(workspace, journal, options.signal);
  if (found !== 'filled' && current !== undefined) {
    const { onProgress, signal } = options;
    await workspace.store.materialize(current, workspace.root, {
      onProgress,
      operation: workspace.directory.operation,
      signal,
    });
  } else if (found === 'missing') {
    await directory.create();
  }
  workspace.retakeRoot();
  await noteOwnership(workspace, journal, options.signal);
  if (found !== 'filled') return { drift: undefined, materialized: current };
  if (settled === 'mixed') await bringBackMixed(runtime);
  if (current !== undefined && !known) {
    const recovered = await runtime.recordCheckpoint({ trigger: 'recovered', signal: options.signal });
    return {
      drift: { expected: current, differences: [], recovered, broughtBack: false },
      materialized: undefined,
    };
  }
  return { drift: await settleDrift(runtime, workspace, stale, options), materialized: undefined };
}

async function bringUpShared(
  workspace: AttachedWorkspace,
  journal: SessionJournal,
  found: 'missing' | 'empty' | 'filled',
  options: OpenSessionOptions,
): Promise<BroughtUp> {
  if (found === 'missing') await workspace.directory.create();
  workspace.retakeRoot();
  const own = await lastOwnRef(journal, options.signal);
  if (own !== undefined) workspace.writes?.settle(own);
  const drift = await findDrift(workspace, journal.fold, options.signal);
  if (drift !== undefined && options.drift === 'fail') throw driftError(journal.id, workspace, drift);
  return {
    drift: drift === undefined ? undefined : reportOf(drift, undefined, false),
    materialized: undefined,
  };
}

/** The last ref that is the session's own: a safety checkpoint holds the work of others too. */
async function lastOwnRef(
  journal: SessionJournal,
  signal: AbortSignal | undefined,
): Promise<Ref | undefined> {
  const checkpoints = await journal.checkpoints({ signal });
  const checkpoint = checkpoints.findLast(({ trigger }) => trigger !== 'safety');
  const restored = journal.fold.lastRestore;
  const last = (restored?.seq ?? 0) > (checkpoint?.seq ?? 0) ? restored : checkpoint;
  return tryParseRef(last?.ref);
}

/** Part of a restore that lost its scratch is in the files; what they were before it is in the store. */
async function bringBackMixed(runtime: SessionRuntime): Promise<RestoreReceipt | undefined> {
  const previous = tryParseRef(runtime.fold.openRestore?.previousRef);
  return previous === undefined ? undefined : await runtime.bringBack(previous, { settles: true });
}

async function settleDrift(
  runtime: SessionRuntime,
  workspace: AttachedWorkspace,
  stale: boolean,
  options: OpenSessionOptions,
): Promise<DriftReport | undefined> {
  const { signal } = options;
  const policy = options.drift ?? 'record';
  const drift = await findDrift(workspace, runtime.fold, signal);
  if (drift === undefined) return undefined;
  if (policy === 'fail') throw driftError(runtime.id, workspace, drift);
  const recovered =
    policy === 'discard' ? undefined : await runtime.recordCheckpoint({ trigger: 'recovered', signal });
  // A root that is older than the journal has nothing to say about the present.
  const behind = workspace.mode === 'per-session' || stale;
  const broughtBack = policy === 'discard' || (policy === 'record' && behind);
  if (broughtBack) await runtime.bringBack(drift.expected, { signal });
  return reportOf(drift, recovered, broughtBack);
}

function driftError(id: string, workspace: AttachedWorkspace, drift: Drift): WorkspaceDriftError {
  return new WorkspaceDriftError(id, workspace.root, drift.expected, drift.differences);
}

function reportOf(drift: Drift, recovered: Ref | undefined, broughtBack: boolean): DriftReport {
  return {
    expected: parseRef(drift.expected),
    differences: drift.differences.slice(0, 100),
    recovered,
    broughtBack,
  };
}

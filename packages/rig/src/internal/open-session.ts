import { throwIfAborted } from '@holdfast/base';
import type { SessionFold, SessionJournal } from '@holdfast/journal';
import type { RestoreReceipt } from '@holdfast/restore';
import { type RuntimeParts, SessionRuntime } from '@holdfast/session';
import { parseRef, type Ref, tryParseRef } from '@holdfast/workspacestore';

import { WorkspaceDriftError, WorkspacePlacementError, WorkspaceRelocatedError } from '../errors.js';
import { type DriftReport, type OpenedSession, openedSession } from '../opened-session.js';
import type { OpenSessionOptions } from '../session-options.js';
import { attachForSession } from './attach-for-session.js';
import type { AttachedWorkspace } from './attach-workspace.js';
import { type Drift, findDrift } from './drift.js';
import type { RigDefinition } from './rig-definition.js';
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
  const owner = sessionOwner(id, options.owner);
  const journal = await definition.sessionStore.open(id, { owner, signal });
  const undo = new UndoOpening();
  undo.add(async () => await journal.close());
  try {
    refuseRelocated(definition, journal, options);
    const workspace = await attachForSession(definition, journal, options, undo);
    const runtime = new SessionRuntime(runtimeParts(definition, journal, workspace, fork));
    const settled = workspace === undefined ? 'none' : await settleRestores(journal, workspace, signal);
    const files =
      workspace === undefined
        ? { drift: undefined, materialized: undefined }
        : await bringUp(runtime, workspace, settled, options);
    const interruptedTurns = await runtime.closeOpenTurns('the process of the session ended');
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

async function bringUp(
  runtime: SessionRuntime,
  workspace: AttachedWorkspace,
  settled: Settlement,
  options: OpenSessionOptions,
): Promise<BroughtUp> {
  const { directory, mode, reservedNames } = workspace;
  const { fold } = runtime;
  const current = tryParseRef(fold.currentWorkspace?.ref);
  const found = directory.look(reservedNames);
  if (mode === 'shared') {
    if (found === 'missing') throw missingRoot(workspace);
    workspace.retakeRoot();
    return { drift: await reportDrift(workspace, fold, options), materialized: undefined };
  }
  if (found !== 'filled' && current !== undefined) {
    await workspace.store.materialize(current, workspace.root, { signal: options.signal });
    workspace.retakeRoot();
    return { drift: undefined, materialized: current };
  }
  if (found === 'missing') await directory.create();
  workspace.retakeRoot();
  if (settled === 'mixed') await bringBackMixed(runtime);
  return { drift: await settleDrift(runtime, workspace, options), materialized: undefined };
}

/** Part of a restore that lost its scratch is in the files; what they were before it is in the store. */
async function bringBackMixed(runtime: SessionRuntime): Promise<RestoreReceipt | undefined> {
  const previous = tryParseRef(runtime.fold.openRestore?.previousRef);
  if (previous === undefined) return undefined;
  const restoreId = runtime.fold.openRestore?.restoreId ?? '';
  await runtime.journal.appendPrivate({
    type: 'restore-aborted',
    id: `${restoreId}.aborted`,
    body: { restoreId, reason: 'its scratch was lost; the files are brought back from the store' },
  });
  return await runtime.bringBack(previous);
}

async function settleDrift(
  runtime: SessionRuntime,
  workspace: AttachedWorkspace,
  options: OpenSessionOptions,
): Promise<DriftReport | undefined> {
  const { signal } = options;
  const policy = options.drift ?? 'record';
  const drift = await findDrift(workspace, runtime.fold, signal);
  if (drift === undefined) return undefined;
  if (policy === 'fail') {
    throw new WorkspaceDriftError(runtime.id, workspace.root, drift.expected, drift.differences);
  }
  const recovered =
    policy === 'discard' ? undefined : await runtime.recordCheckpoint({ trigger: 'recovered', signal });
  const broughtBack = policy === 'discard' || (policy === 'record' && workspace.mode === 'per-session');
  if (broughtBack) await runtime.bringBack(drift.expected, { signal });
  return reportOf(drift, recovered, broughtBack);
}

async function reportDrift(
  workspace: AttachedWorkspace,
  fold: SessionFold,
  options: OpenSessionOptions,
): Promise<DriftReport | undefined> {
  const drift = await findDrift(workspace, fold, options.signal);
  return drift === undefined ? undefined : reportOf(drift, undefined, false);
}

function reportOf(drift: Drift, recovered: Ref | undefined, broughtBack: boolean): DriftReport {
  return {
    expected: parseRef(drift.expected),
    differences: drift.differences.slice(0, 100),
    recovered,
    broughtBack,
  };
}

function missingRoot(workspace: AttachedWorkspace): WorkspacePlacementError {
  return new WorkspacePlacementError('root-not-directory', `${workspace.root} does not exist any more`, {
    root: workspace.root,
  });
}

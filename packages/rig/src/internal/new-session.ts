import { throwIfAborted } from '@holdfast/base';
import type { SessionJournal, SessionStartedBody } from '@holdfast/journal';
import { type RuntimeParts, SessionRuntime } from '@holdfast/session';
import { InvalidRefError, MaterializeError, parseRef, type Ref } from '@holdfast/workspacestore';

import { WorkspaceSeedError } from '../errors.js';
import { type OpenedSession, type OpeningReport, openedSession } from '../opened-session.js';
import type { NewSessionOptions } from '../session-options.js';
import { attachForSession } from './attach-for-session.js';
import { type AttachedWorkspace, rootMissing } from './attach-workspace.js';
import { deleteSession } from './delete-session.js';
import type { RigDefinition } from './rig-definition.js';
import { noteOwnership } from './root-ownership.js';
import { runtimeParts } from './runtime-parts.js';
import { sessionOwner } from './session-owner.js';
import { UndoOpening } from './undo-opening.js';

export interface NewSessionCall extends NewSessionOptions {
  readonly forkedFrom?: SessionStartedBody['forkedFrom'];
  /** Copies the conversation of a fork into the new journal. */
  readonly conversation?: ((journal: SessionJournal) => Promise<void>) | undefined;
}

// 1. Options. 2. Session lease and journal (fence). 3. Root lease, recovery, coordinator. 4. Seed. 5. Tools bound.
// 6. SessionStarted. 7. Checkpoint of the seed, or of what stands in the root. 8. Loops. What fails is taken back, last
// first: the files of the seed and directories that were made, the root lease, the session lease, the journal.
export async function newSession(
  definition: RigDefinition,
  options: NewSessionCall,
  fork: RuntimeParts['fork'],
): Promise<OpenedSession> {
  throwIfAborted(options.signal);
  const seed = checkSeed(definition, options);
  const { sessionStore } = definition;
  const { id, title, signal } = options;
  const owner = sessionOwner(id, options.owner);
  const journal = await sessionStore.create({ id, title, owner, signal });
  const undo = new UndoOpening();
  let ours = false;
  undo.add(async () => {
    if (ours) await deleteSession(definition, journal.id, { removeRoot: false, signal: undefined });
  });
  undo.add(async () => await journal.close());
  // What somebody has gone on with who took the session over is not taken back.
  undo.add(async () => {
    await journal.lease.check();
    ours = true;
  });
  try {
    const workspace = await attachForSession(definition, journal, options, undo);
    const filled = workspace === undefined ? false : await prepareRoot(workspace, seed, undo, options);
    if (workspace !== undefined) await noteOwnership(workspace, journal, signal);
    throwIfAborted(signal);
    const runtime = new SessionRuntime(runtimeParts(definition, journal, workspace, fork));
    undo.add(async () => await runtime.abandon());
    const body: SessionStartedBody = {
      ...(workspace === undefined ? {} : { placement: { mode: workspace.mode, root: workspace.root } }),
      ...(seed === undefined ? {} : { seed }),
      ...(options.forkedFrom === undefined ? {} : { forkedFrom: options.forkedFrom }),
    };
    await options.conversation?.(journal);
    await runtime.begin({ type: 'SessionStarted', body });
    if (seed !== undefined) await runtime.recordCheckpoint({ trigger: 'seed', base: seed, signal });
    else if (filled && workspace?.baseline === true)
      await runtime.recordCheckpoint({ trigger: 'baseline', signal });
    await runtime.startLoops();
    return openedSession(runtime.controller, freshReport(workspace));
  } catch (error) {
    throw await undo.run(journal.id, error);
  }
}

function freshReport(workspace: AttachedWorkspace | undefined): OpeningReport {
  return {
    recovery: workspace?.recovery ?? { action: 'none' },
    interruptedTurns: [],
    drift: undefined,
    materialized: undefined,
  };
}

function checkSeed(definition: RigDefinition, options: NewSessionOptions): Ref | undefined {
  const { seed } = options;
  if (seed === undefined) return undefined;
  const mode = definition.placement?.placement.mode;
  if (mode === undefined) throw new WorkspaceSeedError('no-placement', seed, 'the rig has no workspace');
  if (mode === 'shared') throw new WorkspaceSeedError('shared', seed, 'a shared root belongs to others too');
  try {
    return parseRef(seed);
  } catch (error) {
    if (!InvalidRefError.is(error)) throw error;
    throw new WorkspaceSeedError('invalid-ref', seed, error.message, { cause: error });
  }
}

/** Makes the root, brings the seed into it, and tells whether something stood there. */
async function prepareRoot(
  workspace: AttachedWorkspace,
  seed: Ref | undefined,
  undo: UndoOpening,
  options: NewSessionOptions,
): Promise<boolean> {
  const { directory, reservedNames } = workspace;
  const undoRoot = (step: () => Promise<void>): void => {
    // Whoever took the leases over works in it now.
    undo.add(async () => {
      await workspace.coordinator.healthy();
      await step();
    });
  };
  const found = directory.look(reservedNames);
  if (found === 'missing' && !workspace.mayCreateRoot) throw rootMissing(workspace.root);
  if (seed !== undefined && found === 'filled') {
    throw new WorkspaceSeedError('root-not-empty', seed, `${workspace.root} holds something already`);
  }
  if (found === 'missing') {
    await directory.create();
    // Nobody can tell who else is in a shared root by now.
    if (workspace.mode !== 'shared') undoRoot(async () => await directory.removeEmpty(reservedNames));
  }
  if (seed !== undefined) {
    // Until it has succeeded nothing of ours is in there; what is there is somebody else's.
    await materializeSeed(workspace, seed, options);
    undoRoot(async () => await directory.clear(reservedNames));
  }
  workspace.retakeRoot();
  return found === 'filled';
}

async function materializeSeed(
  workspace: AttachedWorkspace,
  seed: Ref,
  options: NewSessionOptions,
): Promise<void> {
  const { onProgress, signal } = options;
  try {
    await workspace.store.materialize(seed, workspace.root, {
      onProgress,
      operation: workspace.directory.operation,
      signal,
    });
  } catch (error) {
    throwIfAborted(signal);
    const cause = MaterializeError.is(error)
      ? error
      : new MaterializeError(seed, workspace.root, { cause: error });
    throw new WorkspaceSeedError('materialize-failed', seed, cause.message, { cause });
  }
}

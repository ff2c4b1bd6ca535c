import type { SessionJournal } from '@holdfast/journal';
import type { LeaseOwner } from '@holdfast/lease';

import { type AttachedWorkspace, attachWorkspace } from './attach-workspace.js';
import { refuseOverlap } from './overlap.js';
import type { RigDefinition } from './rig-definition.js';
import { sessionOwner } from './session-owner.js';
import type { UndoOpening } from './undo-opening.js';

/** Takes the root of a session under its rig's placement, if there is one; `undo` gives it back. */
export async function attachForSession(
  definition: RigDefinition,
  journal: SessionJournal,
  options: { readonly owner?: LeaseOwner | undefined; readonly signal?: AbortSignal | undefined },
  undo: UndoOpening,
): Promise<AttachedWorkspace | undefined> {
  const { clock, placement, policy, sessionStore } = definition;
  if (placement === undefined || policy === undefined) return undefined;
  const { signal } = options;
  const owner = sessionOwner(journal.id, options.owner);
  const workspace = await attachWorkspace({ journal, placement, policy, owner, clock, signal });
  undo.add(async () => await workspace.release());
  // Links may have moved since the rig was defined.
  refuseOverlap(workspace.root, sessionStore.storagePaths());
  refuseOverlap(workspace.root, workspace.store.storagePaths());
  return workspace;
}

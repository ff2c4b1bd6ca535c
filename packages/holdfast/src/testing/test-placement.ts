import type { Leaser } from '@holdfast/lease';
import {
  exclusiveWorkspace,
  type RigFragment,
  type SnapshotOptions,
  sessionWorkspaces,
  sharedWorkspace,
  type WorkspacePlacement,
} from '@holdfast/rig';
import type { WorkspaceStore } from '@holdfast/workspacestore';

/** Where the sessions of a test rig work: in the world's root, alone or shared, or in roots of their own. */
export type TestPlacement = WorkspacePlacement['mode'] | 'none';

/** A rig over a test world; what is not given is what a careful application would choose. */
export interface TestRigOptions extends Omit<RigFragment, 'sessionStore' | 'workspace' | 'snapshots'> {
  /** Default `per-session`. */
  readonly placement?: TestPlacement | WorkspacePlacement | undefined;
  /** Default: `required` checkpoints at the end of each turn; in a shared root `best-effort`. */
  readonly snapshots?: SnapshotOptions | undefined;
}

interface Parts {
  readonly store: WorkspaceStore;
  readonly leaser: Leaser;
  readonly root: string;
  readonly base: string;
}

/** The part of a rig that says where its sessions work. */
export function placementFragment(options: TestRigOptions, parts: Parts): RigFragment {
  const { placement = 'per-session', snapshots } = options;
  if (placement === 'none') return snapshots === undefined ? {} : { snapshots };
  const workspace = typeof placement === 'string' ? workspaceOf(placement, parts) : placement;
  const priority = workspace.mode === 'shared' ? 'best-effort' : 'required';
  return { workspace, snapshots: snapshots ?? { trigger: 'turn-done', priority } };
}

function workspaceOf(mode: WorkspacePlacement['mode'], parts: Parts): WorkspacePlacement {
  switch (mode) {
    case 'exclusive':
      return exclusiveWorkspace(parts.store, parts.root, parts.leaser);
    case 'shared':
      return sharedWorkspace(parts.store, parts.root);
    case 'per-session':
      return sessionWorkspaces(parts.store, parts.base);
  }
}

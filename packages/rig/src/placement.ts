import type { Leaser, LeaseScope } from '@holdfast/lease';
import type { RestoreStrategy, ScratchPlacement } from '@holdfast/restore';
import type { CaptureOptions, WorkspaceStore } from '@holdfast/workspacestore';

/** Options of every placement. */
export interface PlacementOptions {
  /** Where restores prepare; default `sibling`, a directory beside the root. */
  readonly scratch?: ScratchPlacement | undefined;
  /** How trees are restored; default `swap` for per-session roots, `reconcile` for the others. */
  readonly strategy?: RestoreStrategy | undefined;
  /** Ignore rules of checkpoints, in gitignore syntax. */
  readonly ignore?: CaptureOptions['ignore'];
  readonly limits?: CaptureOptions['limits'];
  readonly onUnreadable?: CaptureOptions['onUnreadable'];
}

/** Options of placements with a fixed root. */
export interface FixedPlacementOptions extends PlacementOptions {
  /** Make the root when it is missing; default `false`. */
  readonly create?: boolean | undefined;
  /** Checkpoint what stands in the root when a session begins there; default `true`. */
  readonly baseline?: boolean | undefined;
}

export interface ExclusivePlacementOptions extends FixedPlacementOptions {
  /** How far the exclusion must reach; a leaser that reaches less is refused. Default `process`. */
  readonly scope?: LeaseScope | undefined;
}

/** One root for one live session at a time. */
export interface ExclusivePlacement {
  readonly mode: 'exclusive';
  readonly store: WorkspaceStore;
  readonly root: string;
  readonly leaser: Leaser;
  readonly options: ExclusivePlacementOptions;
}

/** A root of its own for each session, below a base directory. */
export interface PerSessionPlacement {
  readonly mode: 'per-session';
  readonly store: WorkspaceStore;
  readonly baseDirectory: string;
  readonly options: PlacementOptions;
}

/** One root that several sessions, people and programs use at once. */
export interface SharedPlacement {
  readonly mode: 'shared';
  readonly store: WorkspaceStore;
  readonly root: string;
  readonly options: FixedPlacementOptions;
}

/** Where the workspace of a rig's sessions is. An inert description: `defineRig` checks it. */
export type WorkspacePlacement = ExclusivePlacement | PerSessionPlacement | SharedPlacement;

/** Describes one root for one live session at a time; the leaser keeps others out. */
export function exclusiveWorkspace(
  store: WorkspaceStore,
  root: string,
  leaser: Leaser,
  options: ExclusivePlacementOptions = {},
): ExclusivePlacement {
  return Object.freeze({ mode: 'exclusive', store, root, leaser, options });
}

/** Describes a root for each session: `<baseDirectory>/<session id>`, made when the session begins. */
export function sessionWorkspaces(
  store: WorkspaceStore,
  baseDirectory: string,
  options: PlacementOptions = {},
): PerSessionPlacement {
  return Object.freeze({ mode: 'per-session', store, baseDirectory, options });
}

/** Describes a root that several sessions, people and programs use at once. */
export function sharedWorkspace(
  store: WorkspaceStore,
  root: string,
  options: FixedPlacementOptions = {},
): SharedPlacement {
  return Object.freeze({ mode: 'shared', store, root, options });
}

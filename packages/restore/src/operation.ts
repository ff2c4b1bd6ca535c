import type { ContentKey, LiveSignature } from '@holdfast/workspacestore';

import type { ChangeKind } from './plan.js';

/** What stands, or will stand, at a path. */
export interface NodeState {
  readonly kind: ChangeKind;
  /** Permission bits; set-id and sticky bits too where the node is live. */
  readonly mode: number;
  readonly size: number;
  /** Files whose content was captured. */
  readonly content?: ContentKey | undefined;
  /** Symlinks: the target, verbatim. */
  readonly target?: Uint8Array | undefined;
}

/** What stood at a path when the plan was made. */
export interface BeforeState extends NodeState {
  /** Missing only where the scan could not tell. */
  readonly signature?: LiveSignature | undefined;
}

/**
 * - `unlink`: removes a non-directory so that nothing, or a directory, can stand there.
 * - `rmdir`: removes an emptied directory.
 * - `mkdir`: makes a directory; its mode is set at the end.
 * - `put`: publishes a file or symlink, in place of a non-directory or of nothing.
 * - `chmod`: sets the mode of a file or directory that stays.
 */
export type OperationAction = 'unlink' | 'rmdir' | 'mkdir' | 'put' | 'chmod';

/**
 * One step of bringing a live tree to its target. A plan's operations are in the order in which they are applied:
 * `unlink` in byte order of path, `rmdir` deepest first, `mkdir` shallowest first, `put` in byte order, `chmod` deepest
 * first. `number` is the position in that order and names staged, undo and reserved files.
 */
export interface Operation {
  readonly number: number;
  readonly action: OperationAction;
  /** Raw bytes, relative to the root; empty for the root itself (`chmod` only). */
  readonly path: Uint8Array;
  readonly before?: BeforeState | undefined;
  readonly after?: NodeState | undefined;
}

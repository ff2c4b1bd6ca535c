import type { EntryKind } from '../tree.js';

/** One node of a tree as data: what a test writes to a disk and expects to get back. */
export interface TreeNode {
  /** Relative to the root, components joined by `/`. */
  readonly path: Uint8Array;
  readonly kind: EntryKind;
  /** Permission bits; 0 for symlinks. */
  readonly mode: number;
  /** Files only. */
  readonly content?: Uint8Array | undefined;
  /** Symlinks only. */
  readonly target?: Uint8Array | undefined;
}

import type { ContentKey, Ref } from './ref.js';

/** What a captured entry can be. */
export type EntryKind = 'directory' | 'file' | 'symlink';

/** Why something that was there is not in a snapshot. */
export type OmitReason = 'special' | 'unreadable' | 'limit' | 'mount' | 'reserved';

/** One captured entry of a tree. */
export interface TreeEntry {
  /** Raw bytes, components joined by `/`, relative to the root; never empty. */
  readonly path: Uint8Array;
  readonly kind: EntryKind;
  /** Permission bits `0o777`; 0 for symlinks. */
  readonly mode: number;
  /** Bytes; 0 for directories and symlinks. */
  readonly size: number;
  /** Identity of the content; files only. */
  readonly content?: ContentKey | undefined;
  /** Target bytes, verbatim; symlinks only. */
  readonly target?: Uint8Array | undefined;
}

/** Something that was seen and left out, with a coarse reason. */
export interface OmittedEntry {
  readonly path: Uint8Array;
  readonly reason: OmitReason;
}

/**
 * A whole captured tree, read and verified. Entries come in canonical order: a directory before what is in it, names
 * of one directory in byte order.
 */
export interface Tree {
  readonly ref: Ref;
  /** Mode of the root directory. */
  readonly rootMode: number;
  /** Identity of names, bytes and modes below the root (not of the root's mode, omissions or policy). */
  readonly treeKey: string;
  readonly omitted: readonly OmittedEntry[];
  /** The ignore rules the tree was captured with, in order. */
  readonly ignore: readonly string[];
  readonly entries: readonly TreeEntry[];
}

/** What a live node looked like when it was scanned; equal signatures mean: not touched since. */
export interface LiveSignature {
  readonly kind: string;
  readonly mode: number;
  readonly size: number;
  readonly ino: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly nlink: number;
}

/** An entry of a live tree: what capture would store, plus its signature on disk. */
export interface LiveEntry extends TreeEntry {
  readonly signature: LiveSignature;
}

/** A live node that a capture with the same options would leave out. */
export interface LiveOmitted {
  readonly path: Uint8Array;
  readonly reason: OmitReason | 'ignored';
  /** Kind of the node where it could be told. */
  readonly kind: string;
  readonly signature?: LiveSignature | undefined;
}

/**
 * A live directory beside a snapshot. What is below directories that are equal in both, with nothing left out there on
 * either side, is in neither list of entries.
 */
export interface ComparedTrees {
  readonly live: LiveTree;
  readonly target: Tree;
  /** The directories whose entries are listed, of whichever side has them; the empty path is the root. */
  readonly listed: readonly Uint8Array[];
  /** How many entries are equal on both sides and not listed. */
  readonly unlisted: number;
  /** Live entries, listed or not, that changed at this time (nanoseconds since 1970) or later; the first `most`, default all. */
  changedSince(sinceNs: bigint, most?: number): readonly LiveEntry[];
}

/** A scan of a live directory: like a capture, but nothing is stored. Canonical order. */
export interface LiveTree {
  readonly rootMode: number;
  readonly treeKey: string;
  readonly entries: readonly LiveEntry[];
  /** Left out by limits, type, mount, unreadability or ignore rules; an ignored directory is one row. */
  readonly omitted: readonly LiveOmitted[];
}

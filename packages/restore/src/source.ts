import type { ComparedTrees, Limits, LiveTree, Ref, Tree, TreeEntry } from '@holdfast/workspacestore';

/** Options that a restore passes to a scan of the live tree. */
export interface SourceScanOptions {
  readonly ignore?: readonly string[] | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly onUnreadable?: 'fail' | 'omit' | undefined;
  /** Path text of what is left out and listed as `reserved`. */
  readonly reserved?: readonly string[] | undefined;
  /** The tree that the live one will be compared with; a source may use it to read less. */
  readonly target?: Tree | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Takes one file's content. It is verified against the entry's content key before `fetch` resolves. */
export type ContentSink = (entry: TreeEntry, chunks: AsyncIterable<Uint8Array>) => Promise<void>;

/**
 * Where a restore gets its trees and bytes from: the part of a workspace store that restoring needs.
 * A `WorkspaceStore` of `@holdfast/workspacestore` is one.
 */
export interface RestoreSource {
  /** Reads and verifies a whole tree; with `directories` it may leave out what is not directly in the root or in these. */
  openTree(
    ref: Ref,
    options?: {
      readonly directories?: readonly Uint8Array[] | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<Tree>;
  /**
   * Reads a live directory beside a tree and lists what is in directories that differ. Without it both are read whole.
   * Ignores what the tree's own rules ignore, and what `ignore` says.
   */
  compare?(root: string, ref: Ref, options?: Omit<SourceScanOptions, 'target'>): Promise<ComparedTrees>;
  /** Reads a live directory like a capture would; stores nothing. */
  scan(root: string, options?: SourceScanOptions): Promise<LiveTree>;
  /** Reads the content of files, batched; each one's bytes are proved before its sink's stream ends. */
  fetch(
    entries: readonly TreeEntry[],
    sink: ContentSink,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<void>;
}

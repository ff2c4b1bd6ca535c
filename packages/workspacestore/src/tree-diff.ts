import type { Skipped } from './capture-options.js';
import type { ListRow } from './internal/tree-rows.js';

/** How one path differs between two trees. */
export interface TreeChange {
  /**
   * `type`: another kind of node; `modified`: other content or target, and perhaps another mode; `mode`: the mode alone;
   * `renamed`: a file with the content of one that is gone.
   */
  readonly change: 'added' | 'removed' | 'modified' | 'mode' | 'type' | 'renamed';
  /** Path text; of a renamed file the new one. */
  readonly path: string;
  /** Path text of where a renamed file was. */
  readonly from?: string | undefined;
  /** The entry on the first side. */
  readonly before?: ListRow | undefined;
  /** The entry on the second side. */
  readonly after?: ListRow | undefined;
}

/** What differs between two trees. */
export interface TreeDiff {
  /** In canonical order of paths. */
  readonly changes: readonly TreeChange[];
  /** What one side has and the other did not capture: neither there nor gone. */
  readonly uncovered: readonly Skipped[];
}

export interface DiffOptions {
  /** Whether a removed and an added file of equal content are shown as one renamed file; default `true`. */
  readonly renames?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

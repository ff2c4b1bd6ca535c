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
  /** What differs inside the file, when it was asked for and content differs. */
  readonly text?: TextChange | undefined;
}

/**
 * What differs inside a file. `lines`: in these hunks. `binary`: a side is not UTF-8 text or has a NUL. `too-large`: a side
 * has more bytes than were allowed, or the comparison as a whole has used up its bytes. `raced`: the live file is no
 * longer what the scan found.
 */
export type TextChange =
  | { readonly kind: 'lines'; readonly hunks: readonly TextHunk[] }
  | { readonly kind: 'binary' | 'too-large' | 'raced' };

/** Neighbouring changes with the lines around them, as in a unified patch. */
export interface TextHunk {
  /** First line on the first side, from 1; the line before which something was added when `beforeLines` is 0. */
  readonly beforeStart: number;
  readonly beforeLines: number;
  readonly afterStart: number;
  readonly afterLines: number;
  /** Without their line feed, behind a mark: a space, `-`, `+`, or a backslash for `No newline at end of file`. */
  readonly lines: readonly string[];
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
  /** Whether changed files are compared line by line; default `false`. `true` stands for the defaults. */
  readonly text?: boolean | TextDiffOptions | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface TextDiffOptions {
  /** Unchanged lines shown around changes; default 3. */
  readonly contextLines?: number | undefined;
  /** Files with more bytes on either side are `too-large`; default 1 MiB. */
  readonly maxFileBytes?: number | undefined;
  /** Bytes of both sides of all files together; once they are used up, files are `too-large`. Default 64 MiB. */
  readonly maxTotalBytes?: number | undefined;
}

import type { OnConflict, Prune, RestorePlan, RestoreStrategy, Verified } from '@holdfast/restore';

/** What a preview may be asked for. */
export interface PreviewRestoreOptions {
  /** Path text of files or subtrees; everything by default. */
  readonly paths?: readonly string[] | undefined;
  /** Default: the placement's strategy decides. */
  readonly prune?: Prune | undefined;
  /** Default `fail`. */
  readonly onConflict?: OnConflict | undefined;
  /** Path text of what may be overwritten although no checkpoint holds it. */
  readonly force?: readonly string[] | undefined;
  /** In place of the placement's strategy. */
  readonly strategy?: RestoreStrategy | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a restore may be asked for. */
export interface RestoreWorkspaceOptions extends PreviewRestoreOptions {
  /** Commits exactly this plan, which `previewRestore` made, or fails. */
  readonly plan?: RestorePlan | undefined;
  /** `false`: no checkpoint of the present tree first, so that nothing undoes this restore. Default `true`. */
  readonly safety?: boolean | undefined;
  /** `wait` (default) for writers to finish; `fail` at once when the workspace is busy. */
  readonly drain?: 'wait' | 'fail' | undefined;
  /** Longest wait for the workspace in milliseconds; no limit by default. */
  readonly timeout?: number | undefined;
  /** What is read back before the commit is recorded. Default `touched`. */
  readonly verify?: Verified | undefined;
}

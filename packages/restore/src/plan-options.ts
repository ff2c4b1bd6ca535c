import type { Tree } from '@holdfast/workspacestore';

import type { OnConflict, Prune } from './plan.js';

/** How the difference between two trees becomes a plan. */
export interface PlanOptions {
  /** Name of the strategy, shown in the plan. Default `reconcile`. */
  readonly strategy?: string | undefined;
  /** Path text of files or subtrees; everything when absent. The mode of the root is restored only with everything. */
  readonly paths?: readonly string[] | undefined;
  /** Default `files`. */
  readonly prune?: Prune | undefined;
  /**
   * What an earlier restore brought, when this one takes that back: directories and links that it has and the target lacks
   * go too with `prune` `files`. Those that somebody made since stay.
   */
  readonly restored?: Tree | undefined;
  /** Default `fail`: the plan lists the conflicts and applying it is refused. */
  readonly onConflict?: OnConflict | undefined;
  /** Path text of files or subtrees that may be overwritten or deleted although no checkpoint holds them. */
  readonly force?: readonly string[] | undefined;
  /** The safety checkpoint. Whatever it does not hold as the scan found it is a conflict or is left alone. */
  readonly captured?: Tree | undefined;
  /** In shared roots: how to tell what others changed. */
  readonly foreign?: ForeignChanges | undefined;
  /**
   * Whether what the scan ignored is what the target's own rules leave out, so that it does not count against an exact
   * result. Default `true`. The scan must have used the target's rules, with or without more.
   */
  readonly ignoredByTarget?: boolean | undefined;
}

/** Tells changes of this session from those of others. */
export interface ForeignChanges {
  /** The session's last snapshot. */
  readonly last: Tree;
  /** Whether a path (path text) was changed through the session's own permits since. */
  wrote(path: string): boolean;
}

import type { Clock, Random } from '@holdfast/base';
import type { SessionStore } from '@holdfast/journal';
import type { AnyLoop, ShutdownDeadlines, SnapshotPriority, SnapshotTrigger } from '@holdfast/session';

import type { WorkspacePlacement } from './placement.js';

/** When checkpoints are taken. */
export interface SnapshotOptions {
  /** Default `idle`. */
  readonly trigger?: SnapshotTrigger | undefined;
  /** Default `best-effort`. */
  readonly priority?: SnapshotPriority | undefined;
  /** Milliseconds for one checkpoint; 0 or unset: 60,000. */
  readonly timeout?: number | undefined;
}

/**
 * A part of a rig's definition. Plugins and applications can each give one: lists are joined, an option with one value
 * may be given once.
 */
export interface RigFragment {
  readonly loops?: readonly AnyLoop[] | undefined;
  /** Names of the loops that a session starts with; default: the first loop. */
  readonly primers?: readonly string[] | undefined;
  readonly sessionStore?: SessionStore | undefined;
  readonly workspace?: WorkspacePlacement | undefined;
  readonly snapshots?: SnapshotOptions | undefined;
  /**
   * A private directory with a short path, such as one in the user's runtime directory: there each live session listens
   * for other processes of the same user. Absent: they cannot reach it.
   */
  readonly controlDirectory?: string | undefined;
  /** Milliseconds that each phase of a shutdown may take. */
  readonly deadlines?: Partial<ShutdownDeadlines> | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

import type { Clock, Random } from '@holdfast/base';
import type { SessionStore } from '@holdfast/journal';
import type { AnyLoop, ShutdownDeadlines, SnapshotPolicy } from '@holdfast/session';

import type { ResolvedPlacement } from './resolve-placement.js';

/** A definition that was checked. */
export interface RigDefinition {
  readonly loops: readonly AnyLoop[];
  readonly primers: readonly string[];
  readonly sessionStore: SessionStore;
  readonly placement: ResolvedPlacement | undefined;
  /** Present exactly when `placement` is. */
  readonly policy: SnapshotPolicy | undefined;
  readonly controlDirectory: string | undefined;
  readonly deadlines: Partial<ShutdownDeadlines> | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

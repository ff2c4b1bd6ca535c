import type { CanonicalPath } from './canonical-path.js';
import type { Group, LifetimeAccess, Operation } from './request.js';

/** Who asks, as people and diagnostics see it. */
export interface Holder {
  readonly loop?: string | undefined;
  readonly toolCall?: string | undefined;
  readonly note?: string | undefined;
}

/** The facts of one request, waiting or granted. JSON-safe. */
export interface PermitRecord {
  /** Unique within the coordinator. */
  readonly id: number;
  readonly operation: Operation;
  readonly access?: LifetimeAccess | undefined;
  readonly group: Group;
  readonly scopes: readonly CanonicalPath[];
  readonly holder: Holder;
  /** Wall time in milliseconds: when it was granted, or since when it waits. */
  readonly since: number;
}

/** A request that has not been granted. */
export interface QueuedRecord extends PermitRecord {
  /** `permits`: for those in `blockedBy`; `admission`: for the end of the suspensions. */
  readonly waitsFor: 'permits' | 'admission';
  /** Ids of the requests ahead that conflict with it. */
  readonly blockedBy: readonly number[];
}

/** A granted right to touch the workspace. Release it when the work is done; `using` works. */
export interface Permit extends Disposable {
  readonly record: PermitRecord;
  /** `false` after release. */
  readonly held: boolean;
  /** Gives the right back. Idempotent. */
  release(): void;
}

/** A reason why no new process may start. */
export interface SuspensionRecord {
  readonly id: number;
  readonly holder: Holder;
  /** Wall time in milliseconds. */
  readonly since: number;
}

/** Everything a coordinator knows, for the diagnosis of a stuck session. JSON-safe. */
export interface CoordinatorReport {
  readonly closed: boolean;
  readonly active: readonly PermitRecord[];
  /** In order of arrival. */
  readonly queued: readonly QueuedRecord[];
  readonly suspensions: readonly SuspensionRecord[];
}

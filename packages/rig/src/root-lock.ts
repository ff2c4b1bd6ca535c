import type { Clock } from '@holdfast/base';
import { acquireHostLock } from '@holdfast/lease/fs';
import { type HostLock, WorkspaceRestoreError } from '@holdfast/restore';

export interface RootLockOptions {
  /** Longest wait for another restore of this root, in milliseconds; default 60,000. */
  readonly wait?: number | undefined;
  readonly clock: Clock;
}

const defaultWait = 60_000;

/**
 * The lock that every restore and recovery of a root on this host holds, whatever session, command or home it belongs
 * to; restores of one root wait for each other.
 * @param root Absolute canonical path.
 */
export function rootLock(root: string, options: RootLockOptions): HostLock {
  return async (scratchPath) => {
    const { clock, wait = defaultWait } = options;
    const limit = new AbortController();
    using _limit = clock.schedule(wait, () => {
      limit.abort(
        new WorkspaceRestoreError(
          'permit-failed',
          `another restore or recovery of it went on for ${wait} ms: wait for its end or end its process`,
          { root },
        ),
      );
    });
    return await acquireHostLock(root, {
      wait: true,
      signal: limit.signal,
      clock,
      directory: `${scratchPath}/lock`,
    });
  };
}

import { type Clock, onAbort } from '@holdfast/base';
import { acquireHostLock } from '@holdfast/lease/fs';
import { type HostLock, WorkspaceRestoreError } from '@holdfast/restore';

export interface RootLockOptions {
  /** Longest wait for another restore of this root, in milliseconds; default 60,000. */
  readonly wait?: number | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

const defaultWait = 60_000;

/**
 * The lock that every restore and recovery of a root on this host holds, whatever session, command or home it belongs
 * to. It is not taken over while its holder lives, and leaves nothing on the disk where the platform allows it.
 */
export function rootLock(root: string, options: RootLockOptions): HostLock {
  return async () => {
    const { clock, signal, wait = defaultWait } = options;
    const limit = new AbortController();
    using _caller = onAbort(signal, (reason) => {
      limit.abort(reason);
    });
    const timedOut = new Error(`another restore held the root for ${wait} ms`);
    using _limit = clock.schedule(wait, () => {
      limit.abort(timedOut);
    });
    try {
      return await acquireHostLock(root, { wait: true, clock, signal: limit.signal });
    } catch (error) {
      if (error !== timedOut) throw error;
      throw new WorkspaceRestoreError('permit-failed', timedOut.message, { root, cause: error });
    }
  };
}

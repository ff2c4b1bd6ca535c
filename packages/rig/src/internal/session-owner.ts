import type { LeaseOwner } from '@holdfast/lease';

/** What leases say about who holds them: the process, the session, and what the application adds. */
export function sessionOwner(sessionId: string | undefined, given: LeaseOwner | undefined): LeaseOwner {
  return {
    ...given,
    pid: process.pid,
    ...(sessionId === undefined ? {} : { session: sessionId }),
  };
}

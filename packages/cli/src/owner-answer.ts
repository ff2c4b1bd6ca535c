import { readFileSync } from 'node:fs';

import type { Clock } from '@holdfast/base';
import type { LeaseOwner } from '@holdfast/lease';
import { isAlive, parseProcessIdentity } from '@holdfast/lease/fs';

/** What can be seen of the process of an owner. `unknown`: it is another machine's, or the platform does not tell. */
export type OwnerState = 'running' | 'stopped' | 'unknown';

/** A stopped process accepts a connection and never answers; one that only works answers late. */
export const lookEveryMs = 5_000;
/** How long an owner that is not seen to be stopped may take. */
export const answerWithinMs = 30_000;

/** Looks whether the process of an owner runs or is stopped (by a signal, or by a debugger). */
export function ownerState(owner: LeaseOwner): OwnerState {
  const identity = parseProcessIdentity(owner);
  if (identity === undefined || isAlive(identity) !== 'alive') return 'unknown';
  let stat: string;
  try {
    stat = readFileSync(`/proc/${identity.pid}/stat`, 'utf8');
  } catch {
    return 'unknown';
  }
  // The command before it is in parentheses and may hold some itself.
  const state = stat.slice(stat.lastIndexOf(')') + 2).charAt(0);
  return state === 'T' || state === 't' ? 'stopped' : 'running';
}

/**
 * Waits for an owner's answer. Every 5 seconds it looks at the owner: one that is stopped is given up, any other after 30
 * seconds. `late` makes the error from what was seen of it.
 */
export async function ownerAnswer<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  look: () => OwnerState,
  late: (state: OwnerState) => Error,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<T> {
  const limit = new AbortController();
  let waited = 0;
  let timer: Disposable | undefined;
  const wait = (): void => {
    timer = clock.schedule(lookEveryMs, () => {
      waited += lookEveryMs;
      const state = look();
      if (state === 'stopped' || waited >= answerWithinMs) limit.abort(late(state));
      else wait();
    });
  };
  wait();
  try {
    return await ask(AbortSignal.any([signal, limit.signal]));
  } finally {
    timer?.[Symbol.dispose]();
  }
}

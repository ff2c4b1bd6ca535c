import type { JsonValue } from '@holdfast/base';
import { isAlive, type Liveness, parseProcessIdentity, processIdentity } from '@holdfast/lease/fs';

/** This process as restores and recoveries write it down. */
export function processOwner(): JsonValue {
  return { ...processIdentity() };
}

/** Judges the process that a restore was written down with. */
export function ownerLiveness(owner: JsonValue): Liveness {
  const identity = parseProcessIdentity(owner);
  return identity === undefined ? 'unknown' : isAlive(identity);
}

/** The host in one word, for the journal: restores found elsewhere cannot be judged here. */
export function hostName(): string {
  return processIdentity().hostId ?? 'unknown';
}

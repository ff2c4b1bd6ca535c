import { type Random, randomHex } from '@holdfast/base';
import { isAlive, type ProcessIdentity, processIdentity } from '@holdfast/lease/fs';

/** Of the names of everything that these tools write. */
export const operationPrefix = 'agent-tools-';
const bootDigits = 12;
const namespaceId = /\[(\d{1,10})\]$/;

/**
 * A name for what this process writes: its pid, start time, boot and pid namespace, so that the next process can tell
 * whether the writer of a leftover still lives. A random one where the platform does not tell.
 */
export function operationOf(self: ProcessIdentity, random: Random): string {
  const boot = bootOf(self);
  const namespace = namespaceOf(self);
  if (boot === undefined || namespace === undefined || self.startTime === null) {
    return `${operationPrefix}${randomHex(random, 8)}`;
  }
  return `${operationPrefix}${self.pid}-${self.startTime}-${boot}-${namespace}`;
}

/** Judges whoever wrote: `true`: alive, or not one of these tools; `false`: dead; `undefined`: nobody can tell. */
export function writerLives(operation: string, own: string): boolean | undefined {
  if (!operation.startsWith(operationPrefix) || operation === own) return true;
  const match = /^(\d+)-(\d+)-([0-9a-f]+)-(\d+)$/.exec(operation.slice(operationPrefix.length));
  const self = processIdentity();
  if (match === null || match[3] !== bootOf(self) || match[4] !== namespaceOf(self)) return undefined;
  const state = isAlive({ ...self, pid: Number(match[1]), startTime: match[2] as string });
  return state === 'unknown' ? undefined : state === 'alive';
}

function bootOf({ bootId }: ProcessIdentity): string | undefined {
  return bootId?.replaceAll('-', '').slice(0, bootDigits);
}

function namespaceOf({ pidNamespace }: ProcessIdentity): string | undefined {
  return pidNamespace === null ? undefined : namespaceId.exec(pidNamespace)?.[1];
}

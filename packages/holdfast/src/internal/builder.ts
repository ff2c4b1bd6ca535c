import { sha256Hex } from '@holdfast/base';
import { isAlive, type ProcessIdentity, processIdentity } from '@holdfast/lease/fs';
import type { Builder } from '@holdfast/workspacestore';

/**
 * Names this process so that another one can tell later whether it still runs. The name says pid and start, and digests of
 * the host, its boot and the namespace of pids, which are compared with those of whoever asks.
 */
export function processBuilder(): Builder {
  const self = processIdentity();
  const { pid, startTime } = self;
  return {
    name: `b-${pid}-${startTime ?? 'x'}-${digest(self.hostId)}-${digest(self.bootId)}-${digest(self.pidNamespace)}`,
    isLive: (name) => {
      const identity = parseName(name, self);
      // Whatever has another kind of name is not ours to judge.
      return identity === undefined || isAlive(identity) !== 'dead';
    },
  };
}

function parseName(name: string, self: ProcessIdentity): ProcessIdentity | undefined {
  const match = /^b-([1-9]\d{0,9})-(\d{1,20}|x)-([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})$/.exec(name);
  if (match === null) return undefined;
  const [, pid, startTime, host, boot, namespace] = match as unknown as readonly [string, ...string[]];
  const same = (value: string | null, found: string | undefined): string | null =>
    digest(value) === found ? value : `not ${value}`;
  return {
    pid: Number(pid),
    startTime: startTime === 'x' ? null : (startTime as string),
    hostId: same(self.hostId, host),
    bootId: same(self.bootId, boot),
    pidNamespace: same(self.pidNamespace, namespace),
  };
}

function digest(value: string | null): string {
  return sha256Hex(new TextEncoder().encode(value ?? '')).slice(0, 8);
}

import { sha256Hex } from '@holdfast/base';

import { type HostReader, systemHostReader } from './host-reader.js';

/**
 * Names one process for as long as the world lasts: a pid alone is reused, and means nothing on another host. `null` where
 * the platform does not tell. JSON-safe.
 */
export type ProcessIdentity = {
  /** Derived from the machine's own id and host name; says nothing inside a container. */
  readonly hostId: string | null;
  /** The kernel's random id of this boot. */
  readonly bootId: string | null;
  readonly pidNamespace: string | null;
  readonly pid: number;
  /** Clock ticks since boot, as the kernel prints them. */
  readonly startTime: string | null;
};

/** `unknown`: this process cannot see the other one (another host or container); it may be either. */
export type Liveness = 'alive' | 'dead' | 'unknown';

/** Names this process and judges others. Injected, so that tests can imitate reuse of pids, reboots and other hosts. */
export interface ProcessTable {
  self(): ProcessIdentity;
  isAlive(identity: ProcessIdentity): Liveness;
}

// The kernel gives the first namespace of every boot this fixed number. Only there is the host id that of the machine.
const initialPidNamespace = 'pid:[4026531836]';

/** Judges by what the kernel says; the reader is injected. */
export class HostProcessTable implements ProcessTable {
  readonly #reader: HostReader;
  #self: ProcessIdentity | undefined;

  constructor(reader: HostReader) {
    this.#reader = reader;
  }

  self(): ProcessIdentity {
    this.#self ??= Object.freeze({
      hostId: this.#hostId(),
      bootId: this.#reader.readText('/proc/sys/kernel/random/boot_id')?.trim() ?? null,
      pidNamespace: this.#reader.readLink('/proc/self/ns/pid') ?? null,
      pid: this.#reader.pid,
      startTime: this.#stat(this.#reader.pid)?.startTime ?? null,
    });
    return this.#self;
  }

  isAlive(identity: ProcessIdentity): Liveness {
    const self = this.self();
    if (self.bootId !== null && identity.bootId !== null) {
      if (self.bootId !== identity.bootId) return this.#isEarlierBoot(identity) ? 'dead' : 'unknown';
      const shared = self.pidNamespace !== null && self.pidNamespace === identity.pidNamespace;
      return shared ? this.#probe(identity) : 'unknown';
    }
    // Elsewhere the host name is all there is, and a pid that is gone is gone in every boot.
    const samePids =
      !this.#reader.hasPidNamespaces && self.hostId !== null && self.hostId === identity.hostId;
    return samePids ? this.#probe(identity) : 'unknown';
  }

  /** The same machine has booted since: every process of an earlier boot is gone. */
  #isEarlierBoot(identity: ProcessIdentity): boolean {
    const self = this.self();
    return (
      self.hostId !== null &&
      self.hostId === identity.hostId &&
      self.pidNamespace === initialPidNamespace &&
      identity.pidNamespace === initialPidNamespace
    );
  }

  #probe(identity: ProcessIdentity): Liveness {
    if (!this.#reader.processExists(identity.pid)) return 'dead';
    const stat = this.#stat(identity.pid);
    if (stat === undefined) {
      // It ended meanwhile, or its files are hidden from this user (`hidepid`), or there is no `/proc`.
      return this.#reader.processExists(identity.pid) ? 'unknown' : 'dead';
    }
    if (identity.startTime === null) return 'unknown';
    if (stat.startTime !== identity.startTime) return 'dead';
    return stat.ended ? 'dead' : 'alive';
  }

  #stat(pid: number): ProcessStat | undefined {
    const text = this.#reader.readText(`/proc/${pid}/stat`);
    return text === undefined ? undefined : parseProcessStat(text);
  }

  #hostId(): string | null {
    const { hostName } = this.#reader;
    if (!this.#reader.hasPidNamespaces) return shortHash(`host name\n${hostName}`);
    for (const path of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
      const machineId = this.#reader.readText(path)?.trim();
      // Hashed with the host name, since machine ids must not be shown and clones of a machine share theirs.
      if (machineId !== undefined && /^[0-9a-f]{32}$/.test(machineId))
        return shortHash(`${machineId}\n${hostName}`);
    }
    return null;
  }
}

const systemProcesses = new HostProcessTable(systemHostReader);

/** The table of the machine that this code runs on. */
export function systemProcessTable(): ProcessTable {
  return systemProcesses;
}

/** Returns the identity of this process. */
export function processIdentity(): ProcessIdentity {
  return systemProcesses.self();
}

/**
 * Judges the process that `identity` names. `dead` is a proof: no such process, another one with the same pid, a zombie, or
 * an earlier boot of this machine. A stopped process is alive.
 */
export function isAlive(identity: ProcessIdentity): Liveness {
  return systemProcesses.isAlive(identity);
}

/** Checks the shape of an identity that was read from somewhere; `undefined` when it is anything else. */
export function parseProcessIdentity(value: unknown): ProcessIdentity | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { hostId, bootId, pidNamespace, pid, startTime } = value as Record<string, unknown>;
  if (!isTextOrNull(hostId) || !isTextOrNull(bootId) || !isTextOrNull(pidNamespace)) return undefined;
  if (!isTextOrNull(startTime)) return undefined;
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1) return undefined;
  return { hostId, bootId, pidNamespace, pid, startTime };
}

interface ProcessStat {
  readonly startTime: string;
  readonly ended: boolean;
}

function parseProcessStat(text: string): ProcessStat | undefined {
  // The second field is the command in parentheses and may itself hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, threads, startTime] = [fields[0], fields[17], fields[19]];
  if (state === undefined || threads === undefined || startTime === undefined || !/^\d+$/.test(startTime)) {
    return undefined;
  }
  // A main thread can be a zombie while another one is still inside a write: that process may still change files.
  return { startTime, ended: (state === 'Z' || state === 'X') && Number(threads) <= 1 };
}

function shortHash(text: string): string {
  return sha256Hex(new TextEncoder().encode(`holdfast host\n${text}`)).slice(0, 32);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || (typeof value === 'string' && value.length <= 200);
}

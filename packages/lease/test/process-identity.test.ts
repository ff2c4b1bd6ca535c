import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

import {
  HostProcessTable,
  type HostReader,
  isAlive,
  type ProcessIdentity,
  parseProcessIdentity,
  processIdentity,
} from '@holdfast/lease/fs';
import { describe, expect, it } from 'vitest';

const initialNamespace = 'pid:[4026531836]';
const machineId = '0123456789abcdef0123456789abcdef';

interface ImaginaryProcess {
  readonly startTime: number;
  readonly state?: string;
  readonly threads?: number;
  readonly command?: string;
}

interface ImaginaryHost {
  readonly boot: string | undefined;
  readonly namespace: string | undefined;
  readonly machine: string | undefined;
  readonly hostName: string;
  readonly linux: boolean;
  readonly processes: Map<number, ImaginaryProcess>;
  readonly hidden: Set<number>;
}

function host(overrides: Partial<ImaginaryHost> = {}): ImaginaryHost {
  return {
    boot: 'boot-1',
    namespace: initialNamespace,
    machine: machineId,
    hostName: 'anchor',
    linux: true,
    processes: new Map([
      [1, { startTime: 1 }],
      [50, { startTime: 5000 }],
      [60, { startTime: 6000 }],
    ]),
    hidden: new Set(),
    ...overrides,
  };
}

function tableOf(facts: ImaginaryHost, pid: number): HostProcessTable {
  const texts = new Map<string, string | undefined>([
    ['/proc/sys/kernel/random/boot_id', facts.boot && `${facts.boot}\n`],
    ['/etc/machine-id', facts.machine && `${facts.machine}\n`],
  ]);
  const reader: HostReader = {
    pid,
    hostName: facts.hostName,
    hasPidNamespaces: facts.linux,
    readText: (path) => {
      const asked = /^\/proc\/(\d+)\/stat$/.exec(path)?.[1];
      if (asked === undefined) return texts.get(path);
      const found = facts.hidden.has(Number(asked)) ? undefined : facts.processes.get(Number(asked));
      if (found === undefined || !facts.linux) return undefined;
      const { state = 'S', threads = 7, startTime, command = 'node' } = found;
      const padding = '0 '.repeat(16);
      return `${asked} (${command}) ${state} ${padding}${threads} 0 ${startTime} 745713664 10071\n`;
    },
    readLink: (path) => (path === '/proc/self/ns/pid' ? facts.namespace : undefined),
    processExists: (asked) => facts.processes.has(asked),
  };
  return new HostProcessTable(reader);
}

describe('another process on this host', () => {
  const facts = host();
  const holder = tableOf(facts, 50).self();

  it('is alive while a process with its pid and start time runs, also when it is stopped', () => {
    expect(tableOf(facts, 60).isAlive(holder)).toBe('alive');
    const stopped = host({ processes: new Map([[50, { startTime: 5000, state: 'T' }]]) });
    expect(tableOf(stopped, 60).isAlive(holder)).toBe('alive');
  });

  it('is dead when there is no such process', () => {
    expect(tableOf(host({ processes: new Map() }), 60).isAlive(holder)).toBe('dead');
  });

  it('is dead when its pid was given to another process', () => {
    const reused = host({ processes: new Map([[50, { startTime: 9000 }]]) });
    expect(tableOf(reused, 60).isAlive(holder)).toBe('dead');
    expect(tableOf(reused, 50).isAlive(holder)).toBe('dead');
  });

  it('is dead as a zombie, but not while one of its threads is still in the kernel', () => {
    const zombie = host({ processes: new Map([[50, { startTime: 5000, state: 'Z', threads: 1 }]]) });
    expect(tableOf(zombie, 60).isAlive(holder)).toBe('dead');
    const dying = host({ processes: new Map([[50, { startTime: 5000, state: 'Z', threads: 2 }]]) });
    expect(tableOf(dying, 60).isAlive(holder)).toBe('alive');
  });

  it('is judged by its fields even when its command looks like fields', () => {
    const odd = host({ processes: new Map([[50, { startTime: 5000, command: 'a) Z 0 0 (b) T' }]]) });
    expect(tableOf(odd, 60).isAlive(tableOf(odd, 50).self())).toBe('alive');
  });

  it('is unknown when the kernel hides it from this user', () => {
    expect(tableOf(host({ hidden: new Set([50]) }), 60).isAlive(holder)).toBe('unknown');
  });

  it('keeps its life when the host gets another name', () => {
    expect(tableOf(host({ hostName: 'renamed' }), 60).isAlive(holder)).toBe('alive');
  });
});

describe('a process that cannot be seen', () => {
  const holder = tableOf(host(), 50).self();

  it('is dead after a reboot of the same machine', () => {
    expect(tableOf(host({ boot: 'boot-2' }), 60).isAlive(holder)).toBe('dead');
  });

  it('is unknown on another host, whatever its pid', () => {
    const elsewhere = host({ boot: 'boot-9', machine: 'f'.repeat(32) });
    expect(tableOf(elsewhere, 60).isAlive(holder)).toBe('unknown');
    expect(tableOf(host({ boot: 'boot-9', hostName: 'clone' }), 60).isAlive(holder)).toBe('unknown');
  });

  it('is unknown in another container, also after the container says it has rebooted', () => {
    const container = host({ namespace: 'pid:[4026532999]' });
    expect(tableOf(container, 60).isAlive(holder)).toBe('unknown');
    const inside = tableOf(container, 50).self();
    expect(tableOf(host(), 60).isAlive(inside)).toBe('unknown');
    const moved = host({ namespace: 'pid:[4026532999]', boot: 'boot-2' });
    expect(tableOf(moved, 60).isAlive(inside)).toBe('unknown');
  });

  it('is unknown after a reboot of a machine without an id', () => {
    const before = tableOf(host({ machine: undefined }), 50).self();
    expect(before.hostId).toBeNull();
    expect(tableOf(host({ machine: undefined, boot: 'boot-2' }), 60).isAlive(before)).toBe('unknown');
    const unset = tableOf(host({ machine: 'uninitialized' }), 50).self();
    expect(unset.hostId).toBeNull();
  });

  it('is unknown on a Linux that tells nothing', () => {
    const mute = host({ boot: undefined, namespace: undefined, processes: new Map() });
    expect(tableOf(mute, 60).isAlive(tableOf(mute, 50).self())).toBe('unknown');
  });
});

describe('a platform without /proc', () => {
  const facts = host({ linux: false, boot: undefined, namespace: undefined, machine: undefined });
  const holder = tableOf(facts, 50).self();

  it('proves death by a pid that is gone, and life never', () => {
    expect(holder).toMatchObject({ bootId: null, pidNamespace: null, startTime: null });
    expect(tableOf({ ...facts, processes: new Map() }, 60).isAlive(holder)).toBe('dead');
    expect(tableOf(facts, 60).isAlive(holder)).toBe('unknown');
    expect(tableOf({ ...facts, hostName: 'other', processes: new Map() }, 60).isAlive(holder)).toBe(
      'unknown',
    );
  });
});

describe('the processes of this host', () => {
  it('include this one', () => {
    const identity = processIdentity();
    expect(identity.pid).toBe(process.pid);
    expect(isAlive(identity)).toBe('alive');
    expect(parseProcessIdentity(JSON.parse(JSON.stringify(identity)))).toEqual(identity);
  });

  it('lose a child when it is killed', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const { pid = 0 } = child;
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
    const identity: ProcessIdentity = { ...processIdentity(), pid, startTime };
    expect(isAlive(identity)).toBe('alive');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isAlive(identity)).toBe('dead');
  });
});

describe('an identity that was read from somewhere', () => {
  it('is refused in any other shape', () => {
    const good = processIdentity();
    for (const wrong of [
      null,
      'text',
      [],
      {},
      { ...good, pid: 0 },
      { ...good, pid: '1' },
      { ...good, bootId: 7 },
    ]) {
      expect(parseProcessIdentity(wrong)).toBeUndefined();
    }
    expect(parseProcessIdentity({ ...good, hostId: 'x'.repeat(1000) })).toBeUndefined();
  });
});

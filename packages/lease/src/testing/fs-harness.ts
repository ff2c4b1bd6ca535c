import { yieldToEventLoop } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { type FileSystem, FileSystemError, nodeFileSystem } from '@holdfast/durable';

import { EpochDirectories, epochFileName, epochNumbers } from '../fs/epoch-directory.js';
import { type FsLeaserOptions, openFsLeaser } from '../fs/open-fs-leaser.js';
import type { Liveness, ProcessIdentity, ProcessTable } from '../fs/process-identity.js';
import type { Leaser } from '../leaser.js';
import type { LeaserHarness } from './harness.js';

export interface FsLeaserHarnessOptions extends Pick<FsLeaserOptions, 'scope' | 'fileSystem'> {
  readonly adapter?: string | undefined;
  readonly seed?: number | undefined;
}

/** Every view is a process of its own on an imaginary host: with its own clock, and a disk that can fail. */
interface View {
  readonly path: string;
  readonly pid: number;
  readonly clock: ManualClock;
  readonly gate: Gate;
  frozen: boolean;
}

interface Gate {
  failing: boolean;
}

const ttl = 3000;

/**
 * The harness of the file-system driver, over a real directory (which must exist and be empty) or an injected file
 * system; clocks and processes are imaginary. Also for an operator who wants to check a file system before trusting it.
 */
export function fsLeaserHarness(directory: string, options: FsLeaserHarnessOptions = {}): LeaserHarness {
  const disk = options.fileSystem ?? nodeFileSystem();
  const scope = options.scope ?? 'host';
  const fates = new Map<number, Liveness>();
  const views = new Map<Leaser, View>();
  const syncs = new Set<Promise<unknown>>();
  let directories = 0;

  const open = async (path: string): Promise<Leaser> => {
    const pid = 1000 + fates.size;
    fates.set(pid, 'alive');
    const view: View = { path, pid, clock: new ManualClock(), gate: { failing: false }, frozen: false };
    const leaser = await openFsLeaser(path, {
      scope,
      ttl,
      clock: view.clock,
      fileSystem: gated(disk, view.gate, syncs),
      processes: imaginaryProcesses(pid, fates),
    });
    views.set(leaser, view);
    return leaser;
  };
  const viewOf = (leaser: Leaser): View => {
    const view = views.get(leaser);
    if (view === undefined) throw new TypeError('this leaser was not opened by this harness');
    return view;
  };
  /** Lets every other view watch the holder, whom it cannot judge any more, for a whole time-to-live. */
  const outwait = async (name: string, leaser: Leaser): Promise<void> => {
    const holder = viewOf(leaser);
    fates.set(holder.pid, 'unknown');
    for (const [other, view] of views) {
      if (other === leaser || view.path !== holder.path || view.frozen) continue;
      await other.acquire(name).then(
        async (lease) => await lease.release(),
        () => undefined,
      );
      await view.clock.advance(ttl);
    }
  };

  const base: LeaserHarness = {
    adapter: options.adapter ?? `fs (${scope})`,
    seed: options.seed,
    fresh: async () => {
      directories += 1;
      return await open(`${directory}/${directories}`);
    },
    reopen: async (leaser) => await open(viewOf(leaser).path),
    crash: async (leaser) => {
      const view = viewOf(leaser);
      fates.set(view.pid, 'dead');
      view.frozen = true;
      view.gate.failing = true;
      // Frees descriptors and timers of this process; the imaginary one writes nothing any more.
      await leaser.close().catch(() => undefined);
    },
    corrupt: async (leaser, name) => {
      damageNewest(disk, viewOf(leaser).path, name);
      await Promise.resolve();
    },
    outage: async (leaser) => {
      const { gate } = viewOf(leaser);
      gate.failing = true;
      await Promise.resolve();
      return () => {
        gate.failing = false;
      };
    },
    advance: async (milliseconds) => {
      // Imaginary time stands still while the real disk is at work, or a slow sync would look like a stopped holder.
      do {
        await Promise.allSettled(syncs);
        await yieldToEventLoop();
      } while (syncs.size > 0);
      for (const view of views.values()) if (!view.frozen) await view.clock.advance(milliseconds);
    },
  };
  if (scope === 'process') return base;
  return {
    ...base,
    expire: async (lease, leaser) => {
      const { clock, gate } = viewOf(leaser);
      gate.failing = true;
      await clock.advance(ttl);
      await outwait(lease.name, leaser);
      gate.failing = false;
    },
    suspend: async (lease, leaser) => {
      viewOf(leaser).frozen = true;
      await outwait(lease.name, leaser);
    },
  };
}

function imaginaryProcesses(pid: number, fates: ReadonlyMap<number, Liveness>): ProcessTable {
  const identity: ProcessIdentity = Object.freeze({
    hostId: 'imaginary host',
    bootId: 'imaginary boot',
    pidNamespace: null,
    pid,
    startTime: null,
  });
  return { self: () => identity, isAlive: (other) => fates.get(other.pid) ?? 'unknown' };
}

/** The same disk, whose every call fails while the gate is shut; descriptors can still be closed. Notes pending syncs. */
function gated(disk: FileSystem, gate: Gate, syncs: Set<Promise<unknown>>): FileSystem {
  return new Proxy(disk, {
    get: (target, property) => {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function') return member;
      const call = member.bind(target) as (...args: unknown[]) => unknown;
      if (property === 'close') return call;
      return (...args: unknown[]) => {
        if (!gate.failing) return property === 'syncLater' ? noted(call(...args), syncs) : call(...args);
        const failure = new FileSystemError(String(property), 'EIO', 'shut off by the harness');
        if (property === 'syncLater') return Promise.reject(failure);
        throw failure;
      };
    },
  });
}

function noted(result: unknown, pending: Set<Promise<unknown>>): Promise<unknown> {
  const sync = Promise.resolve(result);
  const forget = (): void => {
    pending.delete(sync);
  };
  pending.add(sync);
  sync.then(forget, forget);
  return sync;
}

function damageNewest(disk: FileSystem, path: string, name: string): void {
  using dir = new EpochDirectories(disk, path).open(name);
  const newest = dir === undefined ? undefined : epochNumbers(dir).at(-1);
  if (dir === undefined || newest === undefined) throw new TypeError(`nothing is stored for ${name}`);
  using file = dir.openFile(epochFileName(newest), 'read-write');
  const byte = new Uint8Array(1);
  const position = Math.floor(file.stat().size / 2);
  file.read(byte, position);
  file.write(
    byte.map((value) => value ^ 1),
    position,
  );
}

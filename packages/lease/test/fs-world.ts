import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { type Clock, sha256Hex } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { type FileSystem, FileSystemError, nodeFileSystem } from '@holdfast/durable';
import type { Leaser } from '@holdfast/lease';
import {
  type FsLeaserOptions,
  type Liveness,
  openFsLeaser,
  type ProcessIdentity,
  type ProcessTable,
} from '@holdfast/lease/fs';

/** Time-to-live of every view, unless a test says otherwise. */
export const ttl = 3000;

/** What a test does to the calls of one view. */
export interface Disturbance {
  /** Called before every call; throw to fail it. */
  before?: ((operation: string) => void) | undefined;
  /** Called before every sync off the event loop; the sync waits for it. */
  beforeSync?: (() => Promise<void>) | undefined;
}

export interface View {
  readonly leaser: Leaser;
  readonly clock: ManualClock;
  readonly disturb: Disturbance;
  readonly pid: number;
}

/** Processes on imaginary hosts over one real directory. Every view has a clock of its own. */
export class World {
  readonly directory: string;
  /** What others find out about a process; `alive` unless set. */
  readonly fates: Map<number, Liveness> = new Map();
  readonly #disk = nodeFileSystem();
  readonly #views: View[] = [];

  constructor(directory: string) {
    this.directory = directory;
  }

  async view(options: FsLeaserOptions = {}): Promise<View> {
    const pid = 100 + this.#views.length;
    const clock = new ManualClock();
    const disturb: Disturbance = {};
    const leaser = await openFsLeaser(this.directory, {
      ttl,
      clock,
      fileSystem: disturbed(this.#disk, disturb),
      processes: this.processes(pid),
      ...options,
    });
    const view: View = { leaser, clock, disturb, pid };
    this.#views.push(view);
    return view;
  }

  processes(pid: number): ProcessTable {
    const identity: ProcessIdentity = {
      hostId: null,
      bootId: null,
      pidNamespace: null,
      pid,
      startTime: null,
    };
    return { self: () => identity, isAlive: (other) => this.fates.get(other.pid) ?? 'alive' };
  }

  /** The directory of a lease. */
  pathOf(name: string): string {
    return join(this.directory, sha256Hex(new TextEncoder().encode(name)));
  }

  files(name: string): string[] {
    return readdirSync(this.pathOf(name)).sort();
  }

  text(name: string, epoch: number): string {
    return readFileSync(join(this.pathOf(name), String(epoch).padStart(16, '0')), 'utf8');
  }

  async close(): Promise<void> {
    for (const { leaser, disturb } of this.#views) {
      disturb.before = undefined;
      disturb.beforeSync = undefined;
      await leaser.close().catch(() => undefined);
    }
  }
}

/** A failure as the disk would give it. */
export function diskFailure(operation: string, errno = 'EIO'): FileSystemError {
  return new FileSystemError(operation, errno, 'imagined by a test');
}

/** A promise to wait for and the function that settles it. */
export function latch(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A clock that runs at another speed than the one that the test moves. */
export function scaledClock(clock: ManualClock, rate: number): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() * rate,
    sleep: async (milliseconds, options) => {
      await clock.sleep(milliseconds / rate, options);
    },
    schedule: (milliseconds, callback) => clock.schedule(milliseconds / rate, callback),
  };
}

function disturbed(disk: FileSystem, disturb: Disturbance): FileSystem {
  return new Proxy(disk, {
    get: (target, property) => {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function') return member;
      const call = member.bind(target) as (...args: unknown[]) => unknown;
      if (property === 'close') return call;
      if (property === 'syncLater') {
        return async (...args: unknown[]) => {
          await disturb.beforeSync?.();
          disturb.before?.('syncLater');
          await call(...args);
        };
      }
      return (...args: unknown[]) => {
        disturb.before?.(String(property));
        return call(...args);
      };
    },
  });
}

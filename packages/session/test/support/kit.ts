import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { type Clock, systemClock } from '@holdfast/base';
import { seededRandom } from '@holdfast/base/testing';
import { memoryBlobs } from '@holdfast/blobs';
import { Coordinator, parseCanonicalPath } from '@holdfast/coordinator';
import {
  Ledger,
  type LedgerDriver,
  MemoryLedgerDriver,
  MemoryLedgerStorage,
  type SessionJournal,
  type SessionLedgers,
  SessionStore,
  sessionLeaseName,
} from '@holdfast/journal';
import { type Lease, MemoryLeases, memoryLeaser } from '@holdfast/lease';
import { type RestoreStrategy, reconcile, swap } from '@holdfast/restore';
import {
  type AnyLoop,
  type PlacementMode,
  type RuntimeWorkspace,
  type SessionController,
  SessionRuntime,
  type ShutdownDeadlines,
  type SnapshotPolicy,
  WriteTracker,
} from '@holdfast/session';
import { type SnapshotOptions, type SnapshotResult, WorkspaceStore } from '@holdfast/workspacestore';
import { afterEach } from 'vitest';

export interface KitOptions {
  readonly loops?: readonly AnyLoop[];
  readonly policy?: Partial<SnapshotPolicy>;
  readonly mode?: PlacementMode;
  /** `false`: a session without a workspace. */
  readonly workspace?: boolean;
  readonly strategy?: RestoreStrategy;
  readonly clock?: Clock;
  readonly deadlines?: Partial<ShutdownDeadlines>;
  readonly controlDirectory?: string;
  /** The place of another kit: its root again. */
  readonly place?: string;
}

/** A store whose snapshots can be held up and made to fail. */
export interface SnapshotHook {
  /** Runs before each snapshot; what it throws fails the snapshot. */
  before: ((root: string, options: SnapshotOptions) => Promise<void> | void) | undefined;
}

/** A session over memory and one real directory, made without a rig, with every edge open to a test. */
export class Kit {
  readonly place: string;
  readonly root: string;
  readonly leases: MemoryLeases = new MemoryLeases();
  readonly snapshots: SnapshotHook = { before: undefined };
  /** Runs before each append with the types of its records; what it throws fails the append. */
  beforeAppend: ((types: readonly string[]) => Promise<void> | void) | undefined;
  /** Runs after each append. */
  afterAppend: ((types: readonly string[]) => void) | undefined;
  /** What every look at the leases fails with. */
  leaseOutage: Error | undefined;
  readonly id: string = 'session-under-test';
  runtime!: SessionRuntime;
  store!: WorkspaceStore;
  coordinator!: Coordinator;
  rootLease: Lease | undefined;
  /** Names of what was let go, in order. */
  readonly released: string[] = [];
  readonly #storage = new MemoryLedgerStorage();
  readonly #blobs = memoryBlobs();

  private constructor(place: string) {
    this.place = place;
    this.root = path.join(place, 'root');
  }

  static async open(options: KitOptions = {}): Promise<Kit> {
    const fresh = (): string => mkdtempSync(path.join(realpathSync(tmpdir()), 'holdfast-session-'));
    const kit = new Kit(options.place ?? fresh());
    kits.push(kit);
    mkdirSync(kit.root, { recursive: true });
    kit.write('a.txt', 'zero');
    const { clock = systemLike, mode = 'exclusive' } = options;
    const leaser = memoryLeaser({ leases: kit.leases });
    const blobs = kit.#blobs;
    const sessions = await SessionStore.open({ ledgers: kit.#ledgers(), leaser, blobs });
    const journal = await sessions.create({ id: kit.id });
    kit.store = await WorkspaceStore.open(blobs);
    kit.#hookSnapshots();
    let workspace: RuntimeWorkspace | undefined;
    if (options.workspace !== false) {
      kit.rootLease = mode === 'exclusive' ? await leaser.acquire('workspace-roots/kit') : undefined;
      const writes = mode === 'shared' ? new WriteTracker(kit.root) : undefined;
      kit.coordinator = new Coordinator({
        health: async (health) => {
          if (kit.leaseOutage !== undefined) throw kit.leaseOutage;
          await journal.lease.check(health);
          await kit.rootLease?.check(health);
        },
        onGranted: (record) => writes?.granted(record),
        clock,
      });
      workspace = {
        mode,
        root: kit.root,
        scope: parseCanonicalPath(kit.root),
        store: kit.store,
        coordinator: kit.coordinator,
        consistency: mode === 'shared' ? 'fuzzy' : 'quiescent',
        capture: {},
        strategy: options.strategy ?? (mode === 'per-session' ? swap() : reconcile()),
        scratch: 'sibling',
        writes,
        leaseSignal: kit.rootLease?.signal,
        policy: { trigger: 'manual', priority: 'best-effort', timeout: 60_000, ...options.policy },
        owner: { pid: process.pid },
        hostLock: () => Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve() }),
        rootIdentity: () => undefined,
        retakeRoot: () => undefined,
        release: async () => {
          kit.released.push('root');
          await kit.rootLease?.release();
        },
      };
    }
    journal.signal.addEventListener('abort', () => kit.released.push('session'));
    const loops = options.loops ?? [];
    kit.runtime = new SessionRuntime({
      journal,
      loops,
      primers: loops[0] === undefined ? [] : [loops[0].name],
      workspace,
      clock,
      random: seededRandom(7),
      deadlines: options.deadlines,
      controlDirectory: options.controlDirectory,
      fork: () => Promise.reject(new Error('this kit forks nothing')),
    });
    await kit.runtime.begin({ type: 'SessionStarted', body: {} });
    await kit.runtime.startLoops();
    return kit;
  }

  /** The journal as the next owner finds it. The present one is fenced by that. */
  async reopen(): Promise<SessionJournal> {
    const leaser = memoryLeaser({ leases: this.leases });
    const sessions = await SessionStore.open({ ledgers: this.#ledgers(), leaser, blobs: this.#blobs });
    return await sessions.open(this.id);
  }

  get controller(): SessionController {
    return this.runtime.controller;
  }

  write(name: string, text: string): void {
    writeFileSync(path.join(this.root, name), text);
  }

  read(name: string): string {
    return readFileSync(path.join(this.root, name), 'utf8');
  }

  /** Types of the events so far; checkpoints with their trigger. */
  async types(from = 1): Promise<string[]> {
    const types: string[] = [];
    for await (const event of this.runtime.journal.events({ from })) {
      const { trigger } = event.body as { trigger?: string };
      types.push(trigger === undefined ? event.type : `${event.type}:${trigger}`);
    }
    return types;
  }

  /** The bodies of the events of a type. */
  async bodies(type: string): Promise<Record<string, unknown>[]> {
    const bodies: Record<string, unknown>[] = [];
    for await (const event of this.runtime.journal.events()) {
      if (event.type === type) bodies.push(event.body as Record<string, unknown>);
    }
    return bodies;
  }

  /** Makes every append that has a record of this type fail. */
  failAppends(type: string, error: Error = new Error(`the disk refused ${type}`)): Error {
    this.beforeAppend = (types) => {
      if (types.includes(type)) throw error;
    };
    return error;
  }

  loseSessionLease(): void {
    this.leases.expire(sessionLeaseName(this.id));
  }

  loseRootLease(options: { readonly silently?: boolean } = {}): void {
    this.leases.expire('workspace-roots/kit', options);
  }

  async end(): Promise<void> {
    this.beforeAppend = undefined;
    this.snapshots.before = undefined;
    await this.controller.shutdown().catch(() => undefined);
    rmSync(this.place, { recursive: true, force: true });
  }

  #hookSnapshots(): void {
    const snapshot = this.store.snapshot.bind(this.store);
    this.store.snapshot = async (root: string, options?: SnapshotOptions): Promise<SnapshotResult> => {
      await this.snapshots.before?.(root, options ?? {});
      return await snapshot(root, options);
    };
  }

  #ledgers(): SessionLedgers {
    const open = (): Ledger => new Ledger(this.#hookedDriver());
    return {
      notes: undefined,
      exists: () => Promise.resolve(this.#storage.ledgers.size > 0),
      open: () => Promise.resolve(open()),
      list: async function* () {
        await Promise.resolve();
      },
      delete: () => Promise.resolve(),
      storagePaths: () => [],
      close: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  #hookedDriver(): LedgerDriver {
    const inner = new MemoryLedgerDriver({ storage: this.#storage });
    return {
      contract: inner.contract,
      supports: inner.supports,
      maxRecordBytes: inner.maxRecordBytes,
      storagePaths: () => inner.storagePaths(),
      append: async (name, tip, records, options) => {
        await this.beforeAppend?.(records.map(typeOf));
        await inner.append(name, tip, records, options);
        this.afterAppend?.(records.map(typeOf));
      },
      read: (name, range, options) => inner.read(name, range, options),
      changed: (name, tip, options) => inner.changed(name, tip, options),
      tip: (name, options) => inner.tip(name, options),
      list: (prefix, options) => inner.list(prefix, options),
      delete: (name, options) => inner.delete(name, options),
      close: () => inner.close(),
    };
  }
}

function typeOf(record: Uint8Array): string {
  return /"type":"([^"]+)"/.exec(new TextDecoder().decode(record))?.[1] ?? '';
}

const systemLike: Clock = systemClock;

const kits: Kit[] = [];

afterEach(async () => {
  for (const kit of kits.splice(0)) await kit.end();
});

/** A gate that a test opens: what waits at it goes on afterwards. */
export interface Barrier {
  /** Resolves when somebody is there. */
  readonly reached: Promise<void>;
  readonly reach: () => void;
  readonly open: () => void;
  wait(): Promise<void>;
}

export function barrier(): Barrier {
  let open!: () => void;
  let reach!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return {
    reached,
    reach,
    open,
    wait: async () => {
      reach();
      await opened;
    },
  };
}

/** Lets everything that is ready run, without real time passing on purpose. */
export async function settle(rounds = 20): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

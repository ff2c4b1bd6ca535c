import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import {
  Ledger,
  type LedgerDriver,
  MemoryLedgerDriver,
  MemorySessionStorage,
  memorySessionLedgers,
  type SessionLedgers,
  SessionStore,
} from '@holdfast/journal';
import { type Leaser, MemoryLeases, memoryLeaser } from '@holdfast/lease';
import {
  exclusiveWorkspace,
  sessionWorkspaces,
  sharedWorkspace,
  type WorkspacePlacement,
} from '@holdfast/rig';
import type { SessionController } from '@holdfast/session';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { afterEach } from 'vitest';

/** Everything that outlives a process, in memory, and a place on the disk for roots. */
export class World {
  readonly place: string = mkdtempSync(path.join(realpathSync(tmpdir()), 'holdfast-rig-'));
  readonly blobs: Blobs = memoryBlobs();
  readonly ledgers: MemorySessionStorage = new MemorySessionStorage();
  readonly leases: MemoryLeases = new MemoryLeases();
  /** Runs before each append with the types of its records; what it throws fails the append. */
  beforeAppend: ((types: readonly string[]) => Promise<void> | void) | undefined;
  readonly #closers: (() => Promise<void>)[] = [];

  constructor() {
    mkdirSync(this.path('root'));
    worlds.push(this);
  }

  path(...names: string[]): string {
    return path.join(this.place, ...names);
  }

  write(name: string, text: string, root: string = this.path('root')): void {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }

  /** An empty fixed root, as at the beginning. */
  reset(): void {
    rmSync(this.path('root'), { recursive: true });
    mkdirSync(this.path('root'));
  }

  read(name: string, root: string = this.path('root')): string {
    return readFileSync(path.join(root, name), 'utf8');
  }

  /** What one process opens over the world. */
  async process(): Promise<Stack> {
    const leaser = memoryLeaser({ leases: this.leases });
    const ledgers = hooked(
      memorySessionLedgers({ storage: this.ledgers }),
      async (types) => await this.beforeAppend?.(types),
      this.ledgers,
    );
    const sessionStore = await SessionStore.open({ ledgers, leaser, blobs: this.blobs });
    const store = await WorkspaceStore.open(this.blobs);
    this.#closers.push(async () => {
      await sessionStore.close();
      await store.close();
      await leaser.close();
    });
    const placement = (mode: WorkspacePlacement['mode']): WorkspacePlacement => {
      if (mode === 'exclusive') return exclusiveWorkspace(store, this.path('root'), leaser);
      if (mode === 'shared') return sharedWorkspace(store, this.path('root'));
      return sessionWorkspaces(store, this.path('base'));
    };
    return { leaser, sessionStore, store, placement };
  }

  /** Ends every lease as the end of their process would. */
  killHolders(controller: SessionController, rootLease?: string): void {
    this.leases.expire(`sessions/${controller.id}`);
    if (rootLease !== undefined) this.leases.expire(rootLease);
  }

  async end(): Promise<void> {
    this.beforeAppend = undefined;
    for (const close of this.#closers.reverse()) await close().catch(() => undefined);
    rmSync(this.place, { recursive: true, force: true });
  }
}

export interface Stack {
  readonly leaser: Leaser;
  readonly sessionStore: SessionStore;
  readonly store: WorkspaceStore;
  placement(mode: WorkspacePlacement['mode']): WorkspacePlacement;
}

/** Types of a session's events; checkpoints with their trigger. */
export async function eventTypes(controller: SessionController): Promise<string[]> {
  const types: string[] = [];
  for await (const event of controller.events()) {
    const { trigger } = event.body as { trigger?: string };
    types.push(trigger === undefined ? event.type : `${event.type}:${trigger}`);
  }
  return types;
}

function hooked(
  inner: SessionLedgers,
  before: (types: readonly string[]) => Promise<void>,
  storage: MemorySessionStorage,
): SessionLedgers {
  const driver = (id: string): LedgerDriver => {
    const memory = new MemoryLedgerDriver({ storage: storage.sessions.get(id) });
    return {
      contract: memory.contract,
      supports: memory.supports,
      maxRecordBytes: memory.maxRecordBytes,
      storagePaths: () => memory.storagePaths(),
      append: async (name, tip, records, options) => {
        await before(records.map(typeOf));
        await memory.append(name, tip, records, options);
      },
      read: (name, range, options) => memory.read(name, range, options),
      changed: (name, tip, options) => memory.changed(name, tip, options),
      tip: (name, options) => memory.tip(name, options),
      list: (prefix, options) => memory.list(prefix, options),
      delete: (name, options) => memory.delete(name, options),
      close: () => memory.close(),
    };
  };
  return {
    notes: inner.notes,
    exists: (id, options) => inner.exists(id, options),
    open: async (id, options) => {
      await inner.open(id, options);
      return new Ledger(driver(id));
    },
    list: (options) => inner.list(options),
    delete: (id, options) => inner.delete(id, options),
    storagePaths: () => inner.storagePaths(),
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

function typeOf(record: Uint8Array): string {
  return /"type":"([^"]+)"/.exec(new TextDecoder().decode(record))?.[1] ?? '';
}

const worlds: World[] = [];

afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end();
});

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { MemorySessionStorage, memorySessionLedgers, SessionStore } from '@holdfast/journal';
import { type Leaser, MemoryLeases, memoryLeaser } from '@holdfast/lease';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { afterEach } from 'vitest';

/** Everything that outlives a process, in memory, and a place on the disk for roots. */
export class World {
  readonly place: string = mkdtempSync(path.join(realpathSync(tmpdir()), 'holdfast-rig-'));
  readonly blobs: Blobs = memoryBlobs();
  readonly ledgers: MemorySessionStorage = new MemorySessionStorage();
  readonly leases: MemoryLeases = new MemoryLeases();
  readonly #closers: (() => Promise<void>)[] = [];

  constructor() {
    mkdirSync(this.path('root'));
    worlds.push(this);
  }

  path(...names: string[]): string {
    return path.join(this.place, ...names);
  }

  /** What one process opens over the world. */
  async process(): Promise<Stack> {
    const leaser = memoryLeaser({ leases: this.leases });
    const sessionStore = await SessionStore.open({
      ledgers: memorySessionLedgers({ storage: this.ledgers }),
      leaser,
      blobs: this.blobs,
    });
    const store = await WorkspaceStore.open(this.blobs);
    this.#closers.push(async () => {
      await sessionStore.close();
      await store.close();
      await leaser.close();
    });
    return { leaser, sessionStore, store };
  }

  async end(): Promise<void> {
    for (const close of this.#closers.reverse()) await close().catch(() => undefined);
    rmSync(this.place, { recursive: true, force: true });
  }
}

export interface Stack {
  readonly leaser: Leaser;
  readonly sessionStore: SessionStore;
  readonly store: WorkspaceStore;
}

const worlds: World[] = [];

afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end();
});

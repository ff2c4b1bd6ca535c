import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { DisposalStack, randomHex, systemRandom } from '@holdfast/base';
import { ManualClock, type SeededRandom, seededRandom } from '@holdfast/base/testing';
import { Blobs, MemoryBlobStorage, MemoryBlobsDriver } from '@holdfast/blobs';
import { Dir, ensureDirectory, nodeFileSystem, removeTree } from '@holdfast/durable';
import { MemorySessionStorage, memorySessionLedgers, SessionStore } from '@holdfast/journal';
import { Leaser, MemoryLeaserDriver, MemoryLeases } from '@holdfast/lease';
import { defineRig, type Rig, type RigFragment } from '@holdfast/rig';
import { WorkspaceStore } from '@holdfast/workspacestore';

import { Mortality, MortalLeaserDriver, mortal } from './mortal-drivers.js';
import { placementFragment, type TestRigOptions } from './test-placement.js';
import type { TestProcess } from './test-process.js';
import { WorldFaults } from './world-faults.js';

export interface TestWorldOptions {
  /** Milliseconds since 1970 at which the world's clock stands; default a moment of 2023. */
  readonly startWall?: number | undefined;
  /** Of everything random; default 1. The same seed gives the same ids. */
  readonly seed?: number | undefined;
}

/**
 * What outlives the processes of an application, for its tests: blobs, journals and leases in memory, and real
 * directories for the workspaces, because tools and agents work on real files. Time stands still until `clock.advance`.
 * Disposing it closes every process and removes the directories.
 *
 * ```ts
 * import assert from 'node:assert/strict';
 * import { TestWorld } from 'holdfast/testing';
 *
 * await using world = await TestWorld.open();
 * const first = await world.process();
 * const session = await first.rig({ loops: [{ name: 'agent', turn: async () => undefined }] }).newSession();
 * await (await session.submit('work')).outcome;
 * first.kill(); // as if the machine had lost its power
 *
 * const second = await world.process();
 * const opened = await second.rig().openSession(session.id);
 * assert.equal((await opened.checkpoints()).length, 1);
 * await opened.shutdown();
 * ```
 */
export class TestWorld implements AsyncDisposable {
  /** Canonical; removed with the world. */
  readonly directory: string;
  /** The root of exclusive and shared placements. */
  readonly root: string;
  readonly clock: ManualClock;
  readonly random: SeededRandom;
  readonly faults: WorldFaults;
  readonly #blobs = new MemoryBlobStorage();
  readonly #journals = new MemorySessionStorage();
  readonly #leases = new MemoryLeases();
  readonly #resources = new DisposalStack();

  /** @internal */
  constructor(directory: string, options: TestWorldOptions) {
    this.directory = directory;
    this.root = join(directory, 'root');
    this.clock = new ManualClock(options.startWall);
    this.random = seededRandom(options.seed ?? 1);
    this.faults = new WorldFaults(this.#leases, this.clock);
    this.#resources.defer(async () => {
      await this.#removeDirectory();
    });
  }

  /** Makes a world in a fresh directory among the temporary files. */
  static async open(options: TestWorldOptions = {}): Promise<TestWorld> {
    // Not the world's own random: worlds with the same seed must not share a directory.
    const name = `holdfast-world-${randomHex(systemRandom, 6)}`;
    const world = new TestWorld(join(realpathSync(tmpdir()), name), options);
    (await ensureDirectory(nodeFileSystem(), world.root, { mode: 0o700 })).close();
    return world;
  }

  /** Opens what one process of the application would. Several may live at once. */
  async process(): Promise<TestProcess> {
    const { clock, random, faults } = this;
    const mortality = new Mortality(this.#leases);
    await using building = new DisposalStack();
    const blobs = building.use(
      new Blobs(
        mortal(faults.aroundBlobs(new MemoryBlobsDriver({ storage: this.#blobs, clock })), mortality),
      ),
    );
    const leaser = building.use(
      new Leaser(new MortalLeaserDriver(new MemoryLeaserDriver(this.#leases), mortality)),
    );
    const ledgers = building.use(
      memorySessionLedgers({
        storage: this.#journals,
        clock,
        layer: (driver) => mortal(faults.aroundLedger(driver), mortality),
      }),
    );
    const sessions = building.use(await SessionStore.open({ ledgers, leaser, blobs, clock, random }));
    // The kernel stamps files, so what is compared with their stamps has to be the kernel's time.
    const store = building.use(await WorkspaceStore.open(blobs, { random }));
    const resources = building.move();
    this.#resources.defer(async () => {
      // A killed process has nothing left to close properly.
      await resources.close().catch((error: unknown) => {
        if (!mortality.dead) throw error;
      });
    });
    const fragment: RigFragment = Object.freeze({ sessionStore: sessions, clock, random });
    const parts = { store, leaser, root: this.root, base: join(this.directory, 'sessions') };
    return {
      blobs,
      leaser,
      store,
      sessions,
      fragment,
      rig: (options: TestRigOptions = {}): Rig => {
        const { placement: _placement, snapshots: _snapshots, ...rest } = options;
        return defineRig(fragment, placementFragment(options, parts), rest);
      },
      kill: () => {
        mortality.die();
      },
      close: () => resources.close(),
      [Symbol.asyncDispose]: () => resources.close(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.close();
  }

  async #removeDirectory(): Promise<void> {
    using parent = Dir.openRoot(nodeFileSystem(), dirname(this.directory));
    await removeTree(parent, Buffer.from(basename(this.directory)));
  }
}

/**
 * Runs Holdfast's operations in this process and measures each, as an agent's process would: modules loaded, store open.
 * Gets calls from its parent, answers each with a measure. One host per store, so that its memory is its own.
 */

import { rmSync } from 'node:fs';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { openFsBlobs } from '@holdfast/blobs/fs';
import { layerBlobs } from '@holdfast/blobs/layers';
import { nodeFileSystem } from '@holdfast/durable';
import { applyRestore, diskSync, noJournal, previewRestore } from '@holdfast/restore';
import { WorkspaceStore } from '@holdfast/workspacestore';

import { editTree } from '../edits.mjs';
import { median } from '../timed.mjs';
import { SyncStopwatch } from './sync-stopwatch.mjs';

/** @typedef {import('../timed.mjs').Measure} Measure */
/** @typedef {import('@holdfast/workspacestore').Ref} Ref */

class Host {
  #base;
  #work;
  /** @type {import('@holdfast/blobs').Blobs | undefined} */
  #blobs;
  /** @type {WorkspaceStore | undefined} */
  #opened;
  /** @type {Ref | undefined} */
  #last;

  /** @param {{ base: string, work: string }} place */
  constructor(place) {
    this.#base = place.base;
    this.#work = place.work;
  }

  get #store() {
    if (this.#opened === undefined) throw new Error('no store is open');
    return this.#opened;
  }

  get #ref() {
    if (this.#last === undefined) throw new Error('nothing was stored yet');
    return this.#last;
  }

  async open() {
    this.#blobs = await openFsBlobs(path.join(this.#base, 'blobs'));
    this.#opened = await WorkspaceStore.open(this.#blobs, { cacheDirectory: path.join(this.#base, 'cache') });
  }

  /** @returns {Promise<Measure>} */
  async first() {
    return await measured(async () => {
      await this.open();
      await this.#snapshot();
    });
  }

  /** @returns {Promise<Measure>} */
  async snapshot() {
    return await measured(() => this.#snapshot());
  }

  async #snapshot() {
    const { ref, hold } = await this.#store.snapshot(this.#work, { base: this.#last });
    this.#last = ref;
    this.#store.release(hold);
  }

  /** @param {string} destination */
  async restore(destination) {
    return await measured(async () => {
      await this.#store.materialize(this.#ref, destination);
    });
  }

  async plan() {
    return await measured(async () => {
      await previewRestore(this.#store, this.#ref, this.#work);
    });
  }

  async rewind() {
    return await measured(async () => {
      await this.#rewind({});
    });
  }

  /** With the checkpoint that makes a restore undoable, and how long it took; the ref to go back to stays the same. */
  async rewindSafely() {
    const safety = { seconds: 0 };
    const measure = await measured(async () => {
      const started = performance.now();
      const { ref, hold } = await this.#store.snapshot(this.#work, { base: this.#last });
      this.#store.release(hold);
      safety.seconds = (performance.now() - started) / 1000;
      await this.#rewind({ safetyRef: ref });
    });
    return { ...measure, shares: { 'safety checkpoint': safety.seconds } };
  }

  /** The steps of a rewind, and how much of it waited for the disk. Wrapping the file system costs a little. */
  async rewindInParts() {
    const disk = new SyncStopwatch(nodeFileSystem());
    const whole = diskSync(path.dirname(this.#work));
    /** @type {Record<string, number>} */
    const shares = {};
    let step = 'before';
    let since = performance.now();
    /** @param {string} next */
    const turn = (next) => {
      const now = performance.now();
      shares[step] = (shares[step] ?? 0) + (now - since) / 1000;
      [step, since] = [next, now];
    };
    const measure = await measured(async () => {
      await this.#rewind({
        fileSystem: disk,
        wholeSync: whole && { from: whole.from, sync: () => disk.during(() => whole.sync()) },
        onStep: turn,
      });
      turn('after');
    });
    return { ...measure, shares: { ...shares, sync: disk.seconds } };
  }

  /** @param {Partial<import('@holdfast/restore').ApplyOptions>} options */
  async #rewind(options) {
    const receipt = await applyRestore(this.#store, this.#ref, this.#work, {
      session: 'bench',
      owner: { pid: process.pid },
      hostLock: () => Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve() }),
      journal: noJournal,
      settled: () => true,
      ...options,
    });
    if (receipt.conflicts.length > 0) throw new Error('the rewind met conflicts');
  }

  /**
   * Aborts a first snapshot after some time. `wall` is from the abort to the end; nothing when it was done before.
   * @param {number} afterMs
   * @returns {Promise<Measure | undefined>}
   */
  async abort(afterMs) {
    await this.open();
    const controller = new AbortController();
    let aborted = 0;
    setTimeout(() => {
      aborted = performance.now();
      controller.abort(new Error('enough'));
    }, afterMs);
    const done = Symbol('done');
    const error = await this.#store.snapshot(this.#work, { signal: controller.signal }).then(
      () => done,
      (/** @type {unknown} */ reason) => reason,
    );
    if (error === done) return undefined;
    if (error !== controller.signal.reason) throw error;
    return { wall: (performance.now() - aborted) / 1000, cpu: 0 };
  }

  /**
   * Many checkpoints of ten files, with `maintain` after each, as a session runs it.
   * @param {{ count: number, files: readonly string[], seed: number }} options
   */
  async checkpoints({ count, files, seed }) {
    /** @type {number[]} */
    const latencies = [];
    /** @type {number[]} */
    const tidying = [];
    let stored = 0;
    const first = await this.#bytesOf('archives/');
    for (let step = 0; step < count; step += 1) {
      editTree(this.#work, files, seed + step, { edit: 10 });
      const started = performance.now();
      const { ref, hold, stats } = await this.#store.snapshot(this.#work, { base: this.#last });
      latencies.push(performance.now() - started);
      this.#last = ref;
      this.#store.release(hold);
      stored += stats.bytesStored;
      const before = performance.now();
      await this.#store.maintain();
      tidying.push(performance.now() - before);
    }
    const archives = await this.#archivesOfRestore();
    const bytes = await this.#bytesOf('archives/');
    return {
      facts: {
        'median ms': median(latencies),
        'worst ms': Math.max(...latencies),
        'median of tidying, ms': median(tidying),
        'worst of tidying, ms': Math.max(...tidying),
        'stored by checkpoints, KiB': stored / 1024,
        'rewritten by merging, KiB': (bytes - first - stored) / 1024,
        'archives per restore': archives,
      },
    };
  }

  /** @param {string} prefix */
  async #bytesOf(prefix) {
    let sum = 0;
    for await (const { size } of /** @type {import('@holdfast/blobs').Blobs} */ (this.#blobs).list(prefix))
      sum += size;
    return sum;
  }

  /** How many archives somebody who has nothing yet asks for. */
  async #archivesOfRestore() {
    /** @type {Set<string>} */
    const asked = new Set();
    const counting = layerBlobs(
      /** @type {import('@holdfast/blobs').Blobs} */ (this.#blobs),
      [
        (driver) =>
          replacing(driver, async (key, options) => {
            if (key.startsWith('archives/')) asked.add(key);
            return await driver.get(key, options);
          }),
      ],
      { keepOpen: true },
    );
    const fresh = await WorkspaceStore.open(counting);
    const destination = `${this.#work}-fresh`;
    await fresh.materialize(this.#ref, destination, { sync: false });
    rmSync(destination, { recursive: true, force: true });
    await fresh.close();
    await counting.close();
    return asked.size;
  }

  async close() {
    await this.#opened?.close();
    await this.#blobs?.close();
  }
}

/**
 * A driver with another `get`.
 * @param {import('@holdfast/blobs').BlobsDriver} driver
 * @param {import('@holdfast/blobs').BlobsDriver['get']} get
 * @returns {import('@holdfast/blobs').BlobsDriver}
 */
function replacing(driver, get) {
  return new Proxy(driver, {
    get: (target, name) => {
      if (name === 'get') return get;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const resolutionMs = 1;

/**
 * @param {() => Promise<void>} work
 * @returns {Promise<Measure>}
 */
async function measured(work) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  const cpu = process.cpuUsage();
  const started = performance.now();
  delay.enable();
  await work();
  const wall = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  delay.disable();
  return {
    wall,
    cpu: (user + system) / 1e6,
    peakMiB: process.resourceUsage().maxRSS / 1024,
    // A timer that is punctual is late by nothing.
    delayP99Ms: Math.max(0, delay.percentile(99) / 1e6 - resolutionMs),
    delayMaxMs: Math.max(0, delay.max / 1e6 - resolutionMs),
  };
}

const host = new Host({ base: String(process.argv[2]), work: String(process.argv[3]) });
/** @type {Record<string, (argument: never) => Promise<unknown>>} */
const calls = {
  open: () => host.open(),
  first: () => host.first(),
  snapshot: () => host.snapshot(),
  restore: (destination) => host.restore(destination),
  plan: () => host.plan(),
  rewind: () => host.rewind(),
  rewindSafely: () => host.rewindSafely(),
  rewindInParts: () => host.rewindInParts(),
  abort: (afterMs) => host.abort(afterMs),
  checkpoints: (options) => host.checkpoints(options),
  close: () => host.close(),
};
process.on('message', (/** @type {{ call: string, argument: never }} */ { call, argument }) => {
  /** @type {(argument: never) => Promise<unknown>} */ (calls[call])(argument).then(
    (measure) => process.send?.({ measure }),
    (error) => process.send?.({ error: String(error?.stack ?? error) }),
  );
});

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

import { openFsBlobs, openFsBlobsDriver } from '@holdfast/blobs/fs';
import { layerBlobs } from '@holdfast/blobs/layers';
import type { Ref } from '@holdfast/workspacestore';
import { expect } from 'vitest';

import { listTree } from '../../../../tools/oracle/oracle.mjs';
import { type Mistake, mistakes } from '../fixtures/store-mistakes.mjs';
import { contents, withStore } from './store.js';
import { remove } from './temporary.js';

const script = fileURLToPath(new URL('../fixtures/store-worker.mjs', import.meta.url));

export type Role = 'life' | 'next' | 'writer' | 'collector' | 'asked';

/** One line of what a process told. */
export interface Told {
  readonly what: string;
  readonly at?: string;
  readonly ref?: Ref;
  readonly hold?: string;
  readonly tree?: string;
  readonly changes?: readonly string[];
  readonly merged?: number;
  readonly archives?: number;
  readonly round?: number;
}

export interface Life {
  readonly told: readonly Told[];
  /** Where it was killed; `undefined`: it ran to its end. */
  readonly killed: string | undefined;
  /** What each change was, behind the operation that it belonged to; empty for one that was killed. */
  readonly changes: readonly string[];
}

export interface Start {
  readonly role: Role;
  readonly name: string;
  readonly seed: number;
  readonly killAt?: number;
  readonly mistake?: Mistake | undefined;
}

export function start(place: string, { role, name, seed, killAt = 0, mistake }: Start): ChildProcess {
  const environment = mistake === undefined ? process.env : { ...process.env, HOLDFAST_PLANTED: mistake };
  return spawn(process.execPath, [script, place, role, name, String(seed), String(killAt)], {
    env: environment,
  });
}

/** Waits for the end of a process, which is one of its own or the kill that was asked for. */
export async function ended(child: ChildProcess, what: string): Promise<Life> {
  let text = '';
  let errors = '';
  child.stdout?.on('data', (data: Buffer) => (text += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (errors += data.toString()));
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once('close', (...end) => {
      resolve(end);
    });
  });
  const told = text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Told);
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`${what}: ended with ${code}: ${errors}`);
  const changes = told.findLast((line) => line.changes !== undefined)?.changes ?? [];
  return { told, killed: told.find((line) => line.what === 'killed')?.at, changes };
}

/** Runs a process to its end or its kill. */
export async function live(place: string, options: Start): Promise<Life> {
  return await ended(start(place, options), `${options.role} ${options.name} seed ${options.seed}`);
}

/** What all processes of a place have told, and what that obliges the store to. */
export class Testimony {
  readonly trees = new Map<Ref, string>();
  readonly #returned = new Map<string, Ref>();
  readonly #released = new Set<string>();

  add(told: readonly Told[]): void {
    for (const { what, ref, hold, tree } of told) {
      if (what === 'returned') {
        this.trees.set(ref as Ref, tree as string);
        this.#returned.set(hold as string, ref as Ref);
      }
      if (what === 'releasing') this.#released.add(hold as string);
    }
  }

  copy(): Testimony {
    const copied = new Testimony();
    for (const [ref, tree] of this.trees) copied.trees.set(ref, tree);
    for (const [hold, ref] of this.#returned) copied.#returned.set(hold, ref);
    for (const hold of this.#released) copied.#released.add(hold);
    return copied;
  }

  /** Nobody will ask for what no journal names. */
  letGo(): void {
    for (const hold of this.#returned.keys()) this.#released.add(hold);
  }

  /** Refs that were given out and that nobody has let go. */
  get held(): Ref[] {
    return [...this.#returned].filter(([hold]) => !this.#released.has(hold)).map(([, ref]) => ref);
  }
}

/** Refs that journals name. */
export function recorded(place: string): Ref[] {
  const journals = path.join(place, 'journals');
  if (!fs.existsSync(journals)) return [];
  return fs
    .readdirSync(journals)
    .filter((name) => !name.endsWith('.new'))
    .flatMap((name) => JSON.parse(fs.readFileSync(path.join(journals, name), 'utf8')) as Ref[]);
}

/** Every ref that somebody has or can find is there with all its bytes, and gives the tree that was captured. */
export async function expectWhole(place: string, testimony: Testimony, where: string): Promise<void> {
  const blobs = await openFsBlobs(path.join(place, 'blobs'));
  try {
    const needed = new Set([...recorded(place), ...testimony.held]);
    const found = new Set<Ref>();
    for await (const { key } of blobs.list('snapshots/')) {
      const hex = /^snapshots\/([0-9a-f]{64})\//.exec(key)?.[1];
      if (hex !== undefined) found.add(`v1:sha256:${hex}` as Ref);
    }
    await withStore(blobs, async (store) => {
      for (const ref of new Set([...needed, ...found])) {
        const { problems } = await store.verify(ref, { deep: true });
        expect(problems, `${where}: ${needed.has(ref) ? 'needed' : 'found'} ${ref}`).toEqual([]);
      }
      for (const ref of needed) {
        const copy = path.join(place, 'copy-of-a-ref');
        await store.materialize(ref, copy, { sync: false });
        const tree = createHash('sha256')
          .update(JSON.stringify(listTree(copy)))
          .digest('hex');
        expect(tree, `${where}: the tree of ${ref}`).toBe(testimony.trees.get(ref));
        remove(copy);
      }
    });
  } finally {
    await blobs.close();
  }
}

/** Gives up every writer, collects, and expects that nothing is left but what journals need. */
export async function expectNothingLeft(place: string, where: string, mistake?: Mistake): Promise<void> {
  const live = recorded(place);
  const driver = await openFsBlobsDriver(path.join(place, 'blobs'), { temporaryAgeMilliseconds: 0 });
  await driver.sweep();
  await driver.close();
  const onDisk = await openFsBlobs(path.join(place, 'blobs'));
  const blobs = layerBlobs(onDisk, mistake === undefined ? [] : [mistakes[mistake]]);
  try {
    await withStore(blobs, async (store) => {
      const writers = new Set<string>();
      for await (const { key } of blobs.list('writers/')) writers.add(key.slice(8, 40));
      for (const writer of writers) await store.forgetWriter(writer);
      const { missing } = await store.collect({ live: () => live });
      expect(missing, where).toEqual([]);
      expect((await store.verify('all', { deep: true })).problems, where).toEqual([]);
    });
    const all = await contents(blobs);
    const keys = [...all.keys()];
    const below = (prefix: string): string[] => keys.filter((key) => key.startsWith(prefix));
    const text = (key: string): string => Buffer.from(all.get(key) as Uint8Array).toString();
    const refs = new Set(below('snapshots/').map((key) => `v1:sha256:${key.slice(10, 74)}`));
    expect([...refs].sort(), `${where}: refs`).toEqual([...new Set(live)].sort());
    // Archives that records name, where forwards lead from there, and nothing else.
    const named = below('snapshots/').flatMap((key) =>
      [...text(key).matchAll(/"name":"([0-9a-f]{64})"/g)].map((match) => match[1] as string),
    );
    const reached = new Set(named);
    for (const name of reached) {
      const forward = all.get(`moved/${name}`);
      const target = forward && /"name":"([0-9a-f]{64})"/.exec(Buffer.from(forward).toString())?.[1];
      if (target !== undefined) reached.add(target);
    }
    const unneeded = [...below('archives/'), ...below('moved/')].filter(
      (key) => !reached.has(key.slice(-64)),
    );
    expect(unneeded, `${where}: left behind`).toEqual([]);
    // An archive that has moved is not kept beside the one that has its objects.
    const twice = below('archives/').filter((key) => all.has(`moved/${key.slice(-64)}`));
    expect(twice, `${where}: kept twice`).toEqual([]);
    expect(
      below('gc/').filter((key) => !key.endsWith('/decision')),
      where,
    ).toEqual([]);
    const slots = below('writers/').filter((key) => !text(key).includes('"kind":"retired"'));
    expect(slots, `${where}: slots`).toEqual([]);
    expect(
      keys.filter((key) => !/^(snapshots|archives|moved|gc|writers)\/|^store$/.test(key)),
      where,
    ).toEqual([]);
    expect(strangers(path.join(place, 'blobs/objects')), `${where}: strangers`).toEqual([]);
  } finally {
    await blobs.close();
  }
}

/** Files in the store's directory that are no objects. */
function strangers(objects: string): string[] {
  return fs
    .readdirSync(objects, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('@'))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

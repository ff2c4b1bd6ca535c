import { throwIfAborted } from '@holdfast/base';
import { type Dir, FileSystemError } from '@holdfast/durable';

import { BlobIntegrityError } from '../errors.js';
import { isForeign } from './foreign.js';
import { isMissing } from './fs-failure.js';

/** The root of the objects is gone from under us: nothing may be called absent because of that. */
export class RootGoneError extends Error {
  override readonly name: string = 'RootGoneError';

  constructor() {
    super('the directory of the store was removed while it was open');
  }
}

/** Forgetting costs one sync per directory, remembering some fifty bytes. */
const maxRemembered = 50_000;

/** How often a path is built again when a sweep removed an empty directory from it. */
export const pathAttempts = 8;

/** Opens the directories of objects, and makes them durably. */
export class ObjectDirectories {
  readonly #root: Dir;
  /**
   * Identities of directories whose names are known to be durable. Not paths: a sweep may remove an empty directory and
   * somebody may make it again, not yet durably.
   */
  readonly #durable = new Set<string>();

  constructor(root: Dir) {
    this.#root = root;
  }

  /**
   * Opens the directory at `path` below the root; `undefined` when a part of it does not exist. The caller closes it.
   * @throws BlobIntegrityError when something else stands in the way.
   */
  find(key: string, path: readonly string[]): Dir | undefined {
    let current = this.#root.retain();
    for (const name of path) {
      try {
        const child = current.openDir(name);
        current.close();
        current = child;
      } catch (error) {
        current.close();
        if (isMissing(error)) return this.absent();
        throw isForeign(error) ? foreignEntry(key, name, error) : error;
      }
    }
    return current;
  }

  /** What is not found below a root that is still there is absent; what is not found because it is gone, is not. */
  absent(): undefined {
    this.assertRootThere();
    return undefined;
  }

  /** @throws RootGoneError when the root was removed from under this store. */
  assertRootThere(): void {
    if (this.#root.stat().nlink === 0) throw new RootGoneError();
  }

  /**
   * Opens the directory at `path`, making what is missing. Its names may not be durable yet, also those that another
   * process made, which may have died before it synced them: whoever puts an object into it syncs `parents` first.
   */
  open(key: string, path: readonly string[], signal: AbortSignal | undefined): OpenedPath {
    const parents: Dir[] = [];
    const unproved: string[] = [];
    let current = this.#root.retain();
    try {
      for (const name of path) {
        throwIfAborted(signal);
        const child = openOrMake(current, name, key);
        const known = identity(child);
        if (this.#durable.has(known)) current.close();
        else {
          parents.push(current);
          unproved.push(known);
        }
        current = child;
      }
    } catch (error) {
      for (const dir of [current, ...parents]) dir.close();
      throw error;
    }
    return {
      dir: current,
      parents,
      // The identities that were opened before the sync; what was made since is not covered by it.
      synced: () => {
        if (this.#durable.size >= maxRemembered) this.#durable.clear();
        for (const known of unproved) this.#durable.add(known);
      },
      [Symbol.dispose]: () => {
        for (const dir of [current, ...parents]) dir.close();
      },
    };
  }
}

/** The directory of an object, with those that have to be synced before anything in it is durable. Dispose it. */
export interface OpenedPath extends Disposable {
  readonly dir: Dir;
  readonly parents: readonly Dir[];
  /** Call it when `parents` have been synced. */
  synced(): void;
}

function openOrMake(parent: Dir, name: string, key: string): Dir {
  try {
    return openIfThere(parent, name) ?? makeChild(parent, name);
  } catch (error) {
    throw isForeign(error) ? foreignEntry(key, name, error) : error;
  }
}

function makeChild(parent: Dir, name: string): Dir {
  try {
    parent.mkdir(name, 0o700);
  } catch (error) {
    // Somebody else was faster; opening it decides whether it will do.
    if (!FileSystemError.is(error) || error.errno !== 'EEXIST') throw error;
  }
  return parent.openDir(name);
}

function openIfThere(parent: Dir, name: string): Dir | undefined {
  try {
    return parent.openDir(name);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function identity(dir: Dir): string {
  const { dev, ino, birthtimeNs } = dir.stat();
  return `${dev}:${ino}:${birthtimeNs}`;
}

function foreignEntry(key: string, name: string, cause: unknown): BlobIntegrityError {
  return new BlobIntegrityError(key, 'foreign', `${name} in its path is not a directory of this store`, {
    cause,
  });
}

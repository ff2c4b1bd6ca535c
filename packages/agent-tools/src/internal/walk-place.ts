import { compareBytes, encodePathText, Pacer } from '@holdfast/base';
import { type Dir, FileSystemError, parseTemporaryName, type Stat } from '@holdfast/durable';

import { joinNames } from './place.js';
import type { Workbench } from './workbench.js';

/** Something met below a directory. Valid until the next one is asked for. */
export interface Met {
  readonly dir: Dir;
  readonly name: Uint8Array;
  /** From `lstat`: advice. */
  readonly stat: Stat;
  /** Path text from the root of the workspace. */
  readonly path: string;
}

/** What a walk left out. */
export interface LeftOut {
  /** Directories that were not entered: by name, too deep, unreadable or gone. */
  directories: number;
}

/** Directories that a walk holds open at a time, and so how deep it goes. */
const maxDepth = 128;

/**
 * Walks below an open directory, names in byte order, parents first, without following symlinks. `skip` holds for
 * directories that are met, not for the one it begins with.
 */
export async function* walkBelow(
  bench: Workbench,
  start: { readonly dir: Dir; readonly names: readonly Uint8Array[] },
  depth: number,
  leftOut: LeftOut,
  signal: AbortSignal | undefined,
): AsyncGenerator<Met, void, void> {
  yield* walk(start.dir, start.names, Math.min(depth, maxDepth));

  async function* walk(
    dir: Dir,
    names: readonly Uint8Array[],
    levels: number,
  ): AsyncGenerator<Met, void, void> {
    const pacer = new Pacer();
    for (const name of dir.list().sort(compareBytes)) {
      if (pacer.due) await pacer.rest(signal);
      // What a tool of this process is writing this moment has no name yet.
      if (parseTemporaryName(name)?.operation === bench.operation) continue;
      if (names.length === 0 && isScratch(name)) continue;
      const stat = dir.lstat(name);
      if (stat === undefined) continue;
      const inside = [...names, name];
      yield { dir, name, stat, path: encodePathText(joinNames(inside)) };
      if (stat.kind !== 'directory') continue;
      using child =
        levels > 1 && !bench.skip.has(Buffer.from(name).toString('utf8')) ? enter(dir, name) : undefined;
      if (child === undefined) leftOut.directories += 1;
      else yield* walk(child, inside, levels - 1);
    }
  }
}

function isScratch(name: Uint8Array): boolean {
  return Buffer.from(name).toString('latin1') === '.holdfast-scratch';
}

function enter(dir: Dir, name: Uint8Array): Dir | undefined {
  try {
    const child = dir.openDir(name);
    try {
      child.list();
      return child;
    } catch (error) {
      child.close();
      throw error;
    }
  } catch (error) {
    if (FileSystemError.is(error) && passing.has(error.errno)) return undefined;
    throw error;
  }
}

/** Another process was faster, or does not let us in. */
const passing: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM']);

import { Pacer } from '@holdfast/base';
import { Dir, FileSystemError, parseTemporaryName, sweepTemporaries } from '@holdfast/durable';
import type { ToolWorkspace } from '@holdfast/session';

import { operationPrefix, writerLives } from './process-operation.js';
import type { Workbench } from './workbench.js';

const swept = new WeakMap<ToolWorkspace, Promise<void>>();

/**
 * Removes, once for each workspace before its first change, the files that killed processes were writing with these tools.
 * The names of living processes stay; those of processes that cannot be judged from here stay for an hour.
 */
export async function sweepLeftovers(bench: Workbench): Promise<void> {
  let sweep = swept.get(bench.workspace);
  if (sweep === undefined) {
    sweep = sweepAll(bench);
    swept.set(bench.workspace, sweep);
    // The next change tries again.
    sweep.catch(() => swept.delete(bench.workspace));
  }
  await sweep;
}

// Not cancelled: other calls wait for the same sweep.
async function sweepAll(bench: Workbench): Promise<void> {
  const isLive = (operation: string): boolean | undefined => writerLives(operation, bench.operation);
  const pacer = new Pacer();
  const pending: string[][] = [[]];
  for (let names = pending.pop(); names !== undefined; names = pending.pop()) {
    if (pacer.due) await pacer.rest(undefined);
    using held = openAt(bench, names);
    if (held === undefined) continue;
    const { dir } = held;
    const entries = dir.list();
    if (entries.some((name) => parseTemporaryName(name)?.operation.startsWith(operationPrefix) === true)) {
      await sweepTemporaries(dir, { isLive, clock: bench.clock });
    }
    for (const name of entries) {
      const text = Buffer.from(name).toString('utf8');
      // Tools do not work in what they skip; a name that is not UTF-8 comes back as another one and is not found.
      if (bench.skip.has(text) || dir.lstat(name)?.kind !== 'directory') continue;
      pending.push([...names, text]);
    }
  }
}

function openAt(
  bench: Workbench,
  names: readonly string[],
): ({ readonly dir: Dir } & Disposable) | undefined {
  let dir = Dir.openRoot(bench.fileSystem, bench.workspace.root);
  for (const name of names) {
    const above = dir;
    try {
      dir = above.openDir(name);
    } catch (error) {
      if (FileSystemError.is(error) && passing.has(error.errno)) return undefined;
      throw error;
    } finally {
      above.close();
    }
  }
  return {
    dir,
    [Symbol.dispose]: () => {
      dir.close();
    },
  };
}

/** Another process was faster, or does not let us in. */
const passing: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM']);

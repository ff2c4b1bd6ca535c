import type { Dir } from './dir.js';
import type { File } from './file.js';
import { runSteps, runStepsSync, type Steps, syncStep } from './internal/steps.js';
import { walkSteps } from './walk.js';

export interface SyncTreeOptions {
  readonly signal?: AbortSignal | undefined;
}

const batchSize = 16;

/**
 * Makes everything below `root`, and the names in it, durable: files in batches side by side, directories after what is
 * in them, `root` last. The name of `root` itself is the business of its parent. Files must be readable.
 *
 * @throws SyncFailedError when a sync failed: the tree must not be published.
 */
export async function syncTree(root: Dir, options: SyncTreeOptions = {}): Promise<void> {
  await runSteps(syncTreeSteps(root, options));
}

/** {@link syncTree} without giving up the thread. */
export function syncTreeSync(root: Dir, options: SyncTreeOptions = {}): void {
  runStepsSync(syncTreeSteps(root, options));
}

/** @internal For recipes that publish trees. */
export function* syncTreeSteps(root: Dir, options: SyncTreeOptions): Steps<void> {
  const files: File[] = [];
  const directories: Dir[] = [];
  const walk = walkSteps(
    root,
    {
      visit: ({ dir, name, stat }) => {
        if (stat.kind === 'file') files.push(dir.openFile(name));
        return undefined;
      },
      leave: ({ dir, name }) => {
        directories.push(dir.openDir(name));
      },
    },
    { signal: options.signal },
  );
  try {
    for (const step of walk) {
      if (files.length >= batchSize) yield* drain(files);
      // Any order among directories is sound as long as all are synced before the tree gets its name.
      if (directories.length >= batchSize) yield* drain(directories);
      yield step;
    }
    yield* drain(files);
    yield* drain(directories);
    yield* syncStep([root]);
  } finally {
    for (const owner of [...files, ...directories]) owner.close();
  }
}

function* drain(owners: (Dir | File)[]): Steps<void> {
  const batch = owners.splice(0);
  try {
    yield* syncStep(batch);
  } finally {
    for (const owner of batch) owner.close();
  }
}

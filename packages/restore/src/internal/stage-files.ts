import { quote } from '@holdfast/base';
import type { Dir, File } from '@holdfast/durable';
import type { TreeEntry } from '@holdfast/workspacestore';

import { WorkspaceRestoreError } from '../errors.js';
import type { NodeState, Operation } from '../operation.js';
import type { RestoreSource } from '../source.js';
import { ContentKeyHasher } from './content-key.js';
import { pathKey } from './path-key.js';
import { shownPath } from './plan-lists.js';
import { SyncPool } from './sync-pool.js';

/** Where a file is built: the directory and the name for it. */
export type Placement = (operation: Operation) => { readonly dir: Dir; readonly name: Uint8Array | string };

export interface StageOptions {
  readonly source: RestoreSource;
  readonly signal: AbortSignal | undefined;
  /** `later`: the caller syncs what it can open again, see {@link canBeOpened}. */
  readonly sync: 'each' | 'later';
  pause(): Promise<void>;
  /** Told when a mode did not stick. */
  modesUnsupported(): void;
}

/**
 * Fetches the content of `put` operations into fresh files: written, hashed against the content key, given its mode,
 * synced if asked. The directories are the caller's to sync.
 * @throws WorkspaceRestoreError `materialize-failed` when a source delivers something else than the tree says.
 */
export async function stageFiles(
  operations: readonly Operation[],
  placement: Placement,
  options: StageOptions,
): Promise<void> {
  const wanted = new Map<string, Operation>();
  const entries: TreeEntry[] = [];
  for (const operation of operations) {
    if (operation.action !== 'put' || operation.after?.kind !== 'file') continue;
    wanted.set(pathKey(operation.path), operation);
    entries.push(entryOf(operation, operation.after));
  }
  if (entries.length === 0) return;
  const syncs = new SyncPool();
  try {
    await options.source.fetch(
      entries,
      async (entry, chunks) => {
        const key = pathKey(entry.path);
        const operation = wanted.get(key);
        if (operation === undefined) throw unexpected(entry, 'the source delivered what nobody asked for');
        wanted.delete(key);
        await stageFile(operation, placement(operation), chunks, options, syncs);
      },
      { signal: options.signal },
    );
  } finally {
    await syncs.finish();
  }
  const [missing] = wanted.values();
  if (missing !== undefined) throw unexpected(missing, 'the source did not deliver its content');
}

async function stageFile(
  operation: Operation,
  place: ReturnType<Placement>,
  chunks: AsyncIterable<Uint8Array>,
  options: StageOptions,
  syncs: SyncPool,
): Promise<void> {
  const after = operation.after as NodeState;
  using file = place.dir.createFile(place.name, 0o600);
  const hasher = new ContentKeyHasher();
  for await (const chunk of chunks) {
    if (hasher.size + chunk.length > after.size)
      throw unexpected(operation, `more than ${after.size} bytes came`);
    file.write(chunk, hasher.size);
    hasher.update(chunk);
    await options.pause();
  }
  if (hasher.size !== after.size) throw unexpected(operation, `${hasher.size} of ${after.size} bytes came`);
  if (hasher.key() !== after.content) throw unexpected(operation, 'its bytes do not have its content key');
  setMode(file, after.mode, options);
  if (options.sync === 'each' || !canBeOpened(after.mode)) await syncs.add(() => file.syncLater());
}

/** Whether the owner of a file with this mode can open it, to sync it. */
export function canBeOpened(mode: number): boolean {
  return (mode & 0o400) !== 0;
}

/** Sets a mode and looks whether it stuck. */
export function setMode(file: File, mode: number, options: { modesUnsupported(): void }): void {
  file.chmod(mode);
  if ((file.stat().mode & 0o777) !== (mode & 0o777)) options.modesUnsupported();
}

function entryOf(operation: Operation, after: NodeState): TreeEntry {
  return {
    path: operation.path,
    kind: 'file',
    mode: after.mode & 0o777,
    size: after.size,
    content: after.content,
  };
}

function unexpected(at: { readonly path: Uint8Array }, detail: string): WorkspaceRestoreError {
  const shown = shownPath(at.path);
  return new WorkspaceRestoreError('materialize-failed', `content of ${quote(shown)}: ${detail}`, {
    paths: [shown],
  });
}

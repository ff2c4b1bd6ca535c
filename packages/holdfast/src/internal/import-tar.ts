import type { LocalCaptureOptions } from '@holdfast/cli';
import type { SessionStore } from '@holdfast/journal';
import type { SnapshotResult, WorkspaceStore } from '@holdfast/workspacestore';

import { appendCheckpoint } from './append-checkpoint.js';
import { openOrCreate } from './open-or-create.js';

/** Id of the local journal that keeps imported snapshots alive; no digest of a root looks like it. */
const importsJournal = 'imported-snapshots';

/** Stores a tar stream and records the snapshot. */
export async function importTar(
  { store, journals }: { readonly store: WorkspaceStore; readonly journals: SessionStore },
  stream: AsyncIterable<Uint8Array>,
  { signal, onProgress }: Pick<LocalCaptureOptions, 'signal' | 'onProgress'>,
): Promise<SnapshotResult> {
  const result = await store.importTar(stream, { signal, onProgress });
  // Imports of several processes take turns: the journal has one owner at a time.
  await using journal = await openOrCreate(journals, importsJournal, {
    title: 'imported snapshots',
    wait: true,
    signal,
  });
  await appendCheckpoint(journal, store, result, { trigger: 'manual', consistency: 'quiescent' });
  return result;
}

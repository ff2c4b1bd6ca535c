import type { Clock } from '@holdfast/base';
import type { LocalCollectOptions } from '@holdfast/cli';
import type { SessionStore } from '@holdfast/journal';
import type { CollectCounts, CollectReport, WorkspaceStore } from '@holdfast/workspacestore';

import { liveRefs } from './live-refs.js';

export interface HomeParts {
  readonly store: WorkspaceStore;
  readonly journals: readonly SessionStore[];
  readonly clock: Clock;
}

/** Deletes what no journal of a home needs. */
export async function collectHome(
  { store, journals, clock }: HomeParts,
  { retention, ...options }: LocalCollectOptions,
): Promise<CollectReport> {
  if (await hasJournal(journals, options.signal)) {
    return await store.collect({
      ...options,
      live: () => liveRefs({ journals, retention, clock, signal: options.signal }),
    });
  }
  // Without a journal nobody can say what is needed: more likely the journals are gone than that nothing matters.
  const { deleted, kept, ...rest } = await store.collect({ ...options, dryRun: true, live: () => [] });
  return { ...rest, dryRun: options.dryRun ?? false, deleted: none, kept: sum(deleted, kept) };
}

const none: CollectCounts = Object.freeze({ records: 0, archives: 0, forwards: 0, bytes: 0 });

function sum(a: CollectCounts, b: CollectCounts): CollectCounts {
  return {
    records: a.records + b.records,
    archives: a.archives + b.archives,
    forwards: a.forwards + b.forwards,
    bytes: a.bytes + b.bytes,
  };
}

async function hasJournal(
  journals: readonly SessionStore[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for (const journal of journals) {
    for await (const _session of journal.list({ signal })) return true;
  }
  return false;
}

import path from 'node:path';

import { openFsBlobs } from '@holdfast/blobs/fs';
import { SessionStore } from '@holdfast/journal';
import { openFsLeaser } from '@holdfast/lease/fs';
import { openLevelLedgers } from '@holdfast/level';
import { WorkspaceStore } from '@holdfast/workspacestore';

/**
 * Opens the parts over a directory. Each line is a choice: another driver of the same contract takes its place.
 * @param {string} directory
 */
export async function openStack(directory) {
  const blobs = await openFsBlobs(path.join(directory, 'blobs'));
  const leaser = await openFsLeaser(path.join(directory, 'leases'));
  const ledgers = await openLevelLedgers(path.join(directory, 'sessions'));
  const sessions = await SessionStore.open({ ledgers, leaser, blobs });
  const store = await WorkspaceStore.open(blobs, { cacheDirectory: path.join(directory, 'cache') });
  return {
    sessions,
    store,
    close: async () => {
      for (const part of [store, sessions, ledgers, leaser, blobs]) await part.close();
    },
  };
}

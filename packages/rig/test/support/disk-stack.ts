import path from 'node:path';

import { openFsBlobs } from '@holdfast/blobs/fs';
import { SessionStore } from '@holdfast/journal';
import { openFsLeaser } from '@holdfast/lease/fs';
import { defineRig, exclusiveWorkspace, type Rig, sessionWorkspaces } from '@holdfast/rig';
import { WorkspaceStore } from '@holdfast/workspacestore';

import { FileLedgerDriver, fileSessionLedgers } from '../fixtures/file-ledger.mjs';
import type { Stack } from './world.js';

/** What a worker process uses, opened by the test. */
export interface DiskStack extends Pick<Stack, 'leaser' | 'sessionStore' | 'store'>, AsyncDisposable {
  rig(mode: 'exclusive' | 'per-session'): Rig;
}

export async function openDisk(place: string): Promise<DiskStack> {
  const blobs = await openFsBlobs(path.join(place, 'blobs'));
  const leaser = await openFsLeaser(path.join(place, 'leases'));
  const ledgers = fileSessionLedgers(new FileLedgerDriver(path.join(place, 'ledger')));
  const sessionStore = await SessionStore.open({ ledgers, leaser, blobs });
  const store = await WorkspaceStore.open(blobs);
  return {
    leaser,
    sessionStore,
    store,
    rig: (mode) =>
      defineRig({
        sessionStore,
        workspace:
          mode === 'exclusive'
            ? exclusiveWorkspace(store, path.join(place, 'root'), leaser)
            : sessionWorkspaces(store, path.join(place, 'base')),
        snapshots: { trigger: 'turn-done', priority: 'required' },
      }),
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await sessionStore.close();
      await leaser.close();
      await blobs.close();
    },
  };
}

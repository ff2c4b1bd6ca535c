import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import { memorySessionLedgers, type SessionLedgers, SessionStore } from '@holdfast/journal';
import { type Leaser, memoryLeaser } from '@holdfast/lease';
import { openFsLeaser } from '@holdfast/lease/fs';
import { defineRig, exclusiveWorkspace, sessionWorkspaces, type WorkspacePlacement } from '@holdfast/rig';
import { defineLoop } from '@holdfast/session';
import { type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { describe, expect, it } from 'vitest';

import { FileLedgerDriver, fileSessionLedgers } from './fixtures/file-ledger.mjs';
import { eventTypes, World } from './support/world.js';

const blobs: Record<string, (place: string) => Promise<Blobs>> = {
  memory: async () => await Promise.resolve(memoryBlobs()),
  fs: async (place) => await openFsBlobs(path.join(place, 'blobs')),
};
const ledgers: Record<string, (place: string) => SessionLedgers> = {
  memory: () => memorySessionLedgers(),
  files: (place) => fileSessionLedgers(new FileLedgerDriver(path.join(place, 'ledger'))),
};
const leasers: Record<string, (place: string) => Promise<Leaser>> = {
  memory: async () => await Promise.resolve(memoryLeaser()),
  fs: async (place) => await openFsLeaser(path.join(place, 'leases')),
};

const all = Object.keys(blobs).flatMap((blob) =>
  Object.keys(ledgers).flatMap((ledger) =>
    Object.keys(leasers).map((leaser) => [blob, ledger, leaser] as const),
  ),
);
const combinations = [
  ...all.map((parts) => [...parts, 'exclusive'] as const),
  ['memory', 'memory', 'memory', 'per-session'] as const,
  ['fs', 'files', 'fs', 'per-session'] as const,
];

describe('the same rig from end to end', () => {
  it.each(combinations)(
    'over %s blobs, %s ledgers, %s leases, %s',
    async (blob, ledger, leaserName, mode) => {
      const { place } = new World();
      const stored = await (blobs[blob] as (typeof blobs)['x'])(place);
      const leaser = await (leasers[leaserName] as (typeof leasers)['x'])(place);
      const sessionStore = await SessionStore.open({
        ledgers: (ledgers[ledger] as (typeof ledgers)['x'])(place),
        leaser,
        blobs: stored,
      });
      const store = await WorkspaceStore.open(stored);
      const placement: WorkspacePlacement =
        mode === 'exclusive'
          ? exclusiveWorkspace(store, path.join(place, 'root'), leaser)
          : sessionWorkspaces(store, path.join(place, 'base'));
      const root = { path: '' };
      const agent = defineLoop({
        name: 'agent',
        turn: async ({ input, step }) =>
          await step(async () => {
            writeFileSync(path.join(root.path, 'a.txt'), input as string);
            await Promise.resolve();
            return input;
          }),
      });
      const rig = defineRig({
        loops: [agent],
        sessionStore,
        workspace: placement,
        snapshots: { trigger: 'turn-done', priority: 'required' },
      });
      const controller = await rig.newSession();
      root.path = rig.rootOf(controller.id) as string;
      const { outcome, turn } = await controller.submit('one');
      await outcome;
      await (await controller.submit('two')).outcome;
      mkdirSync(path.join(root.path, 'more'));
      const [first] = await controller.checkpoints();
      await controller.restoreWorkspace(first?.ref as Ref, { prune: 'exact' });
      expect(readdirSync(root.path)).toEqual(['a.txt']);
      await controller.undo();
      expect(readdirSync(root.path)).toEqual(['a.txt', 'more']);
      await controller.rewindTo(turn);
      await controller.shutdown();
      const opened = await rig.openSession(controller.id, { drift: 'fail' });
      expect((await eventTypes(opened)).filter((type) => type === 'WorkspaceRestored')).toHaveLength(3);
      await opened.shutdown();
      await rig.deleteSession(controller.id);
      await store.close();
      await sessionStore.close();
      await leaser.close();
      await stored.close();
    },
  );
});

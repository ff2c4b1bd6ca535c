import { defineRig, type Rig, type WorkspacePlacement } from '@holdfast/rig';
import type { SnapshotTrigger } from '@holdfast/session';

import type { Stack } from './world.js';

/** A rig of a stack with a workspace of a mode, or with this one. */
export function rigOf(
  given: Stack,
  mode: WorkspacePlacement['mode'] | WorkspacePlacement,
  trigger: SnapshotTrigger = 'manual',
): Rig {
  const workspace = typeof mode === 'string' ? given.placement(mode) : mode;
  return defineRig({ sessionStore: given.sessionStore, workspace, snapshots: { trigger } });
}

export async function sessionIds(rig: Rig): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of rig.listSessions()) ids.push(id);
  return ids;
}

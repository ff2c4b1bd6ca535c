import { systemClock, systemRandom } from '@holdfast/base';
import type { SessionStore } from '@holdfast/journal';

import { RigDefinitionError, WorkspacePlacementError } from './errors.js';
import { checkLoops, mergeFragments, toolWithWorkspace } from './internal/merge-fragments.js';
import { refuseOverlap } from './internal/overlap.js';
import { resolvePlacement } from './internal/resolve-placement.js';
import { resolvePolicy } from './internal/resolve-policy.js';
import type { RigDefinition } from './internal/rig-definition.js';
import { Rig } from './rig.js';
import type { RigFragment } from './rig-options.js';

/** The names of the loops of one fragment, or of several. */
type LoopNamesOf<Fragment> = Fragment extends { readonly loops?: infer Loops }
  ? NonNullable<Loops> extends readonly (infer Loop)[]
    ? Loop extends { readonly name: infer Name extends string }
      ? Name
      : never
    : never
  : never;

type CheckedFragments<Fragments extends readonly RigFragment[]> = {
  readonly [Index in keyof Fragments]: Fragments[Index] & {
    readonly primers?: readonly LoopNamesOf<Fragments[number]>[] | undefined;
  };
};

/**
 * Checks a definition and returns a rig, which opens sessions. Looks at paths (`realpath`, `lstat`) and opens nothing.
 * When several things are wrong, the first of this order is thrown: options given twice, the placement, the placement
 * that a tool needs, the snapshot policy, persistence inside the workspace.
 * @throws RigDefinitionError, WorkspacePlacementError, SnapshotPolicyError, PersistenceOverlapError.
 */
export function defineRig<const Fragments extends readonly RigFragment[]>(
  ...fragments: CheckedFragments<Fragments>
): Rig {
  const merged = mergeFragments(fragments as readonly RigFragment[]);
  const sessionStore = checkSessionStore(merged.sessionStore);
  checkLoops(merged.loops, merged.primers);
  const resolved = merged.workspace === undefined ? undefined : resolvePlacement(merged.workspace);
  const tool = toolWithWorkspace(merged.loops);
  if (tool !== undefined && resolved === undefined) {
    throw new WorkspacePlacementError(
      'tool-without-placement',
      `tool ${JSON.stringify(tool.name)} needs a workspace; give the rig a placement`,
    );
  }
  const policy = resolvePolicy(merged.snapshots, merged.workspace);
  if (resolved !== undefined) {
    const { placement, region } = resolved;
    refuseOverlap(region, sessionStore.storagePaths());
    refuseOverlap(region, placement.store.storagePaths());
    if (placement.mode === 'exclusive') refuseOverlap(region, placement.leaser.storagePaths());
  }
  const first = merged.loops[0]?.name;
  const definition: RigDefinition = Object.freeze({
    loops: Object.freeze([...merged.loops]),
    primers: Object.freeze(merged.primers.length > 0 || first === undefined ? [...merged.primers] : [first]),
    sessionStore,
    placement: resolved,
    policy,
    controlDirectory: merged.controlDirectory,
    deadlines: merged.deadlines,
    clock: merged.clock ?? systemClock,
    random: merged.random ?? systemRandom,
  });
  return new Rig(definition);
}

function checkSessionStore(store: SessionStore | undefined): SessionStore {
  const candidate = store as { create?: unknown; open?: unknown; storagePaths?: unknown } | null | undefined;
  const fits = [candidate?.create, candidate?.open, candidate?.storagePaths].every(
    (method) => typeof method === 'function',
  );
  if (store === undefined || !fits) {
    throw new RigDefinitionError('session-store-missing', 'sessionStore', 'pass an open session store');
  }
  return store;
}

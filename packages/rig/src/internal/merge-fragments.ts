import { textOf } from '@holdfast/base';
import type { AnyLoop, AnyTool } from '@holdfast/session';

import { RigDefinitionError, WorkspacePlacementError } from '../errors.js';
import type { RigFragment } from '../rig-options.js';

const lists = ['loops', 'primers'] as const;
const singles = [
  'sessionStore',
  'workspace',
  'snapshots',
  'controlDirectory',
  'deadlines',
  'clock',
  'random',
] as const;

type Single = (typeof singles)[number];

/** Fragments as one. */
export interface MergedFragment extends Pick<RigFragment, Single> {
  readonly loops: readonly AnyLoop[];
  readonly primers: readonly string[];
}

/**
 * Joins fragments.
 * @throws RigDefinitionError for an option that is unknown or given twice; WorkspacePlacementError for two placements.
 */
export function mergeFragments(fragments: readonly RigFragment[]): MergedFragment {
  for (const fragment of fragments) {
    for (const key of Object.keys(fragment)) {
      if ((lists as readonly string[]).includes(key) || (singles as readonly string[]).includes(key))
        continue;
      throw new RigDefinitionError('unknown-option', key, `known are ${[...lists, ...singles].join(', ')}`);
    }
  }
  const given = (key: Single): RigFragment[] => fragments.filter((fragment) => fragment[key] !== undefined);
  for (const key of singles) {
    if (key === 'workspace' || given(key).length < 2) continue;
    throw new RigDefinitionError('duplicate-option', key, 'give it in one fragment only');
  }
  const placements = given('workspace').length;
  if (placements > 1) {
    throw new WorkspacePlacementError(
      'multiple-placements',
      `${placements} were given, at most one is allowed`,
    );
  }
  return {
    loops: fragments.flatMap((fragment) => fragment.loops ?? []),
    primers: fragments.flatMap((fragment) => fragment.primers ?? []),
    sessionStore: given('sessionStore')[0]?.sessionStore,
    // `null` is a placement that was meant to be given.
    workspace: given('workspace')[0]?.workspace,
    snapshots: given('snapshots')[0]?.snapshots,
    controlDirectory: given('controlDirectory')[0]?.controlDirectory,
    deadlines: given('deadlines')[0]?.deadlines,
    clock: given('clock')[0]?.clock,
    random: given('random')[0]?.random,
  };
}

/**
 * Checks loops, tools and primers.
 * @throws RigDefinitionError.
 */
export function checkLoops(loops: readonly AnyLoop[], primers: readonly string[]): void {
  const names = new Set<string>();
  for (const loop of loops) {
    if (typeof loop?.name !== 'string' || loop.name === '' || typeof loop.turn !== 'function') {
      throw new RigDefinitionError(
        'loop-invalid',
        textOf(loop?.name),
        'a loop has a name and a function "turn"',
      );
    }
    if (names.has(loop.name)) {
      throw new RigDefinitionError('loop-duplicate', loop.name, 'two loops have this name');
    }
    names.add(loop.name);
    checkTools(loop.name, loop.tools ?? []);
  }
  for (const primer of primers) {
    if (names.has(primer)) continue;
    throw new RigDefinitionError(
      'primer-unknown',
      primer,
      `defined loops: ${[...names].join(', ') || 'none'}`,
    );
  }
}

/** The first tool that needs a workspace, to write or to read. */
export function toolWithWorkspace(loops: readonly AnyLoop[]): AnyTool | undefined {
  return loops.flatMap((loop) => loop.tools ?? []).find((tool) => tool.requires?.workspace !== undefined);
}

function checkTools(loop: string, tools: readonly AnyTool[]): void {
  const names = new Set<string>();
  for (const tool of tools) {
    if (typeof tool?.name !== 'string' || tool.name === '' || typeof tool.bind !== 'function') {
      throw new RigDefinitionError(
        'tool-invalid',
        `${loop}/${textOf(tool?.name)}`,
        'a tool has a name and "bind"',
      );
    }
    if (names.has(tool.name)) {
      throw new RigDefinitionError(
        'tool-duplicate',
        `${loop}/${tool.name}`,
        'two tools of the loop have this name',
      );
    }
    names.add(tool.name);
  }
}

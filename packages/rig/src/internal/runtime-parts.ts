import type { SessionJournal } from '@holdfast/journal';
import type { RuntimeParts, RuntimeWorkspace } from '@holdfast/session';

import type { RigDefinition } from './rig-definition.js';

/** What the runtime of a session of this rig runs on. */
export function runtimeParts(
  definition: RigDefinition,
  journal: SessionJournal,
  workspace: RuntimeWorkspace | undefined,
  fork: RuntimeParts['fork'],
): RuntimeParts {
  const { clock, controlDirectory, deadlines, loops, primers, random } = definition;
  return { journal, loops, primers, workspace, clock, random, controlDirectory, deadlines, fork };
}

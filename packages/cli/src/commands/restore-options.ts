import type { RemoteRestoreOptions } from '@holdfast/session';

import { type OptionSpec, parseChoice } from '../arguments.js';
import type { CommandContext } from '../command.js';
import { checkPathText } from '../path-argument.js';
import type { LocalRestoreOptions } from '../stack.js';
import { captureOptions } from './capture-options.js';

export const scratchOptionSpec: OptionSpec = {
  name: 'scratch',
  value: 'inside',
  help: 'prepare inside the root when nothing can be written beside it',
};

/** Options of a restore besides the capture options. */
export const restoreOptionSpecs: readonly OptionSpec[] = [
  { name: 'paths', value: 'PATH', repeatable: true, help: 'restore only this file or subtree (repeatable)' },
  {
    name: 'prune',
    value: 'exact',
    help: 'also remove directories and links that the snapshot does not have',
  },
  {
    name: 'on-conflict',
    value: 'fail|overwrite|skip',
    help: 'what to do with paths that changed meanwhile (default: fail)',
  },
  {
    name: 'force',
    value: 'PATH',
    repeatable: true,
    help: 'touch this path although a snapshot does not cover it (repeatable)',
  },
  { name: 'no-safety', help: 'do not take a safety checkpoint of the present tree first' },
  scratchOptionSpec,
];

/** Reads `--scratch`. */
export function scratchOption(context: CommandContext): 'inside' | undefined {
  const value = context.arguments.value('scratch');
  return value === undefined ? undefined : parseChoice(value, 'scratch', ['inside'] as const);
}

/** Reads the options of a restore of a directory. */
export function restoreOptions(context: CommandContext): LocalRestoreOptions {
  return { ...captureOptions(context), ...sessionRestoreOptions(context) };
}

/** Reads the options of a restore besides those of the capture. */
export function sessionRestoreOptions(context: CommandContext): RemoteRestoreOptions {
  const { arguments: parsed } = context;
  const prune = parsed.value('prune');
  const conflict = parsed.value('on-conflict');
  const paths = parsed.values('paths');
  const force = parsed.values('force');
  for (const path of paths) checkPathText(path, 'option --paths');
  for (const path of force) checkPathText(path, 'option --force');
  return {
    ...(paths.length === 0 ? {} : { paths }),
    ...(force.length === 0 ? {} : { force }),
    ...(prune === undefined ? {} : { prune: parseChoice(prune, 'prune', ['files', 'exact'] as const) }),
    ...(conflict === undefined
      ? {}
      : { onConflict: parseChoice(conflict, 'on-conflict', ['fail', 'overwrite', 'skip'] as const) }),
    safety: !parsed.flag('no-safety'),
  };
}

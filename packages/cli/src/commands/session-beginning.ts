import { type OptionSpec, parseChoice } from '../arguments.js';
import type { CommandContext } from '../command.js';
import type { Beginning, Begun } from '../session-access.js';
import { captureOptionSpecs, captureOptions } from './capture-options.js';
import { captureText } from './capture-text.js';

/** Options of every command that begins a session. */
export const beginningOptionSpecs: readonly OptionSpec[] = [
  {
    name: 'placement',
    value: 'exclusive|shared',
    help: 'whether the session has the directory to itself (default: exclusive)',
  },
  { name: 'title', value: 'TEXT', help: 'shown by session list' },
  ...captureOptionSpecs,
];

/** Reads the options of a session that is to begin in a root. */
export function beginningOf(context: CommandContext, root: string): Beginning {
  const { arguments: parsed, io } = context;
  const placement = parsed.value('placement') ?? 'exclusive';
  return {
    root,
    mode: parseChoice(placement, 'placement', ['exclusive', 'shared'] as const),
    title: parsed.value('title'),
    capture: captureOptions(context),
    signal: io.signal,
  };
}

/** Prints the id of a session that has begun, and what its first checkpoint left out. */
export async function tellBegun(
  context: CommandContext,
  { root, mode }: Beginning,
  { id, first }: Begun,
): Promise<void> {
  await context.result({ id, ...first, root, placement: mode }, () => `${id}\n`);
  if (first !== undefined) await context.note(captureText(first));
}

import { parseChoice } from '../arguments.js';
import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRoot } from '../root-argument.js';
import { createSession } from '../session-access.js';
import { captureOptionSpecs, captureOptions } from './capture-options.js';
import { captureText } from './capture-text.js';

export const sessionNewCommand: Command = {
  spec: {
    name: 'session new',
    summary: 'begin a session over a directory; what is in it is checkpointed first',
    arguments: [{ name: 'ROOT', help: 'directory that the session works in' }],
    options: [
      {
        name: 'placement',
        value: 'exclusive|shared',
        help: 'whether the session has the directory to itself (default: exclusive)',
      },
      { name: 'title', value: 'TEXT', help: 'shown by session list' },
      ...captureOptionSpecs,
    ],
    example: 'holdfast session new ./project --title "fix the parser"',
  },
  makesHome: true,
  run: async (context) => {
    const { arguments: parsed, io } = context;
    const placement = parsed.value('placement') ?? 'exclusive';
    const mode = parseChoice(placement, 'placement', ['exclusive', 'shared'] as const);
    const root = await resolveRoot(parsed.positionals[0] as string, io.cwd, context.home);
    const { id, first } = await createSession(await context.stack(), root, mode, {
      title: parsed.value('title'),
      capture: captureOptions(context),
      signal: io.signal,
    });
    await context.result({ id, ...first, root, placement: mode }, () => `${id}\n`);
    if (first !== undefined) await context.note(captureText(first));
    return exitStatus.done;
  },
};

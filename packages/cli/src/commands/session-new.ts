import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRoot } from '../root-argument.js';
import { createSession } from '../session-access.js';
import { beginningOf, beginningOptionSpecs, tellBegun } from './session-beginning.js';

export const sessionNewCommand: Command = {
  spec: {
    name: 'session new',
    summary: 'begin a session over a directory; what is in it is checkpointed first',
    arguments: [{ name: 'ROOT', help: 'directory that the session works in' }],
    options: beginningOptionSpecs,
    example: 'holdfast session new ./project --title "fix the parser"',
  },
  makesHome: true,
  run: async (context) => {
    const { arguments: parsed, io } = context;
    const root = await resolveRoot(parsed.positionals[0] as string, io.cwd, context.home);
    const beginning = beginningOf(context, root);
    await tellBegun(context, beginning, await createSession(await context.stack(), beginning));
    return exitStatus.done;
  },
};

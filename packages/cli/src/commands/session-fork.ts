import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { locateRoot, refuseHome } from '../root-argument.js';
import { forkSession } from '../session-access.js';
import { namedSession, sessionArgument } from '../session-argument.js';
import { beginningOf, beginningOptionSpecs, tellBegun } from './session-beginning.js';

export const sessionForkCommand: Command = {
  spec: {
    name: 'session fork',
    summary:
      'begin a session in another directory as this one was: the files of a checkpoint, the conversation up to it',
    arguments: [sessionArgument, { name: 'DEST', help: 'directory that is missing or empty' }],
    options: [
      {
        name: 'at',
        value: 'POINT',
        help: 'id of a turn, an event or a checkpoint (see: holdfast session log; default: the last checkpoint)',
      },
      // A directory that others use too is never filled with files.
      ...beginningOptionSpecs.filter(({ name }) => name !== 'placement'),
    ],
    example: 'holdfast session fork 01m8q4c54a28dpetvjfxh71cj2 ./other-way',
  },
  run: async (context) => {
    const { arguments: parsed, io } = context;
    const dest = await locateRoot(parsed.positionals[1] as string, io.cwd);
    await refuseHome(dest, context.home);
    const beginning = beginningOf(context, dest);
    const stack = await context.stack();
    const id = await namedSession(context);
    await tellBegun(context, beginning, await forkSession(stack, id, parsed.value('at'), beginning));
    return exitStatus.done;
  },
};

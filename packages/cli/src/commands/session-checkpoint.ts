import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { accessSession } from '../session-access.js';
import { captureOptionSpecs, captureOptions } from './capture-options.js';

export const sessionCheckpointCommand: Command = {
  spec: {
    name: 'session checkpoint',
    summary: 'checkpoint the directory of a session now',
    arguments: [{ name: 'ID', help: 'session id (see: holdfast session list)' }],
    options: captureOptionSpecs,
    example: 'holdfast session checkpoint 01m8q4c54a28dpetvjfxh71cj2',
  },
  run: async (context) => {
    const id = context.arguments.positionals[0] as string;
    const capture = captureOptions(context);
    await using access = await accessSession(await context.stack(), id, context.io.signal, capture);
    const ref = await access.checkpoint();
    await context.result({ id, ref }, () => `${ref}\n`);
    return exitStatus.done;
  },
};

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { accessSession, takeCheckpoint } from '../session-access.js';
import { namedSession, sessionArgument } from '../session-argument.js';
import { captureOptionSpecs, captureOptions } from './capture-options.js';
import { captureText } from './capture-text.js';

export const sessionCheckpointCommand: Command = {
  spec: {
    name: 'session checkpoint',
    summary: 'checkpoint the directory of a session now',
    arguments: [sessionArgument],
    options: captureOptionSpecs,
    example: 'holdfast session checkpoint 01m8q4c54a28dpetvjfxh71cj2',
  },
  run: async (context) => {
    const capture = captureOptions(context);
    const id = await namedSession(context);
    await using access = await accessSession(await context.stack(), id, context.io.signal, capture);
    const report = await takeCheckpoint(access);
    await context.result({ id, ...report }, () => `${report.ref}\n`);
    await context.note(captureText(report));
    return exitStatus.done;
  },
};

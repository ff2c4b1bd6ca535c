import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRoot } from '../root-argument.js';
import { captureOptionSpecs, captureOptions } from './capture-options.js';
import { captureText } from './capture-text.js';
import { noteRecovery } from './note-recovery.js';

export const snapshotCommand: Command = {
  spec: {
    name: 'snapshot',
    summary: 'capture a directory as an immutable snapshot and print its ref',
    arguments: [{ name: 'ROOT', help: 'directory to capture' }],
    options: captureOptionSpecs,
    example: 'holdfast snapshot ./project --ignore node_modules/',
  },
  makesHome: true,
  run: async (context) => {
    const options = captureOptions(context);
    const root = await resolveRoot(context.arguments.positionals[0] as string, context.io.cwd, context.home);
    const stack = await context.stack();
    const local = await stack.openRoot(root, { signal: context.io.signal });
    try {
      await noteRecovery(context, local.recovered);
      const result = await local.snapshot(options);
      await context.result(result, () => `${result.ref}\n`);
      await context.note(captureText(result));
    } finally {
      await local.close();
    }
    return exitStatus.done;
  },
};

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { checkPathText } from '../path-argument.js';
import { resolveRef } from '../ref-argument.js';

export const catCommand: Command = {
  spec: {
    name: 'cat',
    summary: 'write the bytes of a file in a snapshot to standard output',
    arguments: [
      { name: 'REF', help: 'snapshot to look into' },
      { name: 'PATH', help: 'file in it' },
    ],
    options: [],
    example: 'holdfast cat 3f9a0c1d src/index.ts',
  },
  run: async (context) => {
    const path = checkPathText(context.arguments.positionals[1] as string, 'PATH');
    const stack = await context.stack();
    const ref = await resolveRef(stack, context.arguments.positionals[0] as string);
    for await (const chunk of await stack.store.read(ref, path, { signal: context.io.signal })) {
      await context.io.stdout.write(chunk);
    }
    return exitStatus.done;
  },
};

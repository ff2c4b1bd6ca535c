import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRef } from '../ref-argument.js';

export const exportCommand: Command = {
  spec: {
    name: 'export',
    summary: 'write a snapshot to standard output as a plain tar archive',
    arguments: [{ name: 'REF', help: 'snapshot to export' }],
    options: [],
    example: 'holdfast export 3f9a0c1d > project.tar',
  },
  run: async (context) => {
    const { signal, stdout } = context.io;
    const stack = await context.stack();
    const ref = await resolveRef(stack, context.arguments.positionals[0] as string);
    for await (const chunk of await stack.store.exportTar(ref, { signal })) await stdout.write(chunk);
    return exitStatus.done;
  },
};

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRoot } from '../root-argument.js';
import { recoveryText } from './note-recovery.js';
import { scratchOption, scratchOptionSpec } from './restore-options.js';

export const recoverCommand: Command = {
  // What an interrupted restore left beside the root is enough, also when the home is what was lost.
  makesHome: true,
  spec: {
    name: 'recover',
    summary: 'finish or undo a restore that was interrupted',
    arguments: [{ name: 'ROOT', help: 'directory that was being restored' }],
    options: [scratchOptionSpec],
    example: 'holdfast recover ./project',
  },
  run: async (context) => {
    const scratch = scratchOption(context);
    const root = await resolveRoot(context.arguments.positionals[0] as string, context.io.cwd, context.home);
    const stack = await context.stack();
    const local = await stack.openRoot(root, { scratch, signal: context.io.signal });
    try {
      await context.result(local.recovered, () => `${recoveryText(local.recovered)}\n`);
    } finally {
      await local.close();
    }
    return exitStatus.done;
  },
};

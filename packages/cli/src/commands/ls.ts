import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { checkPathText } from '../path-argument.js';
import { resolveRef } from '../ref-argument.js';
import { modeText, printable } from '../text.js';

export const lsCommand: Command = {
  spec: {
    name: 'ls',
    summary: 'list what is in a snapshot',
    arguments: [
      { name: 'REF', help: 'snapshot to look into' },
      { name: 'PATH', optional: true, help: 'file or directory in it (default: everything)' },
    ],
    options: [],
    example: 'holdfast ls 3f9a0c1d src',
  },
  run: async (context) => {
    const [, within] = context.arguments.positionals;
    if (within !== undefined) checkPathText(within, 'PATH');
    const stack = await context.stack();
    const ref = await resolveRef(stack, context.arguments.positionals[0] as string);
    const rows = await stack.store.list(ref, within, { signal: context.io.signal });
    await context.result(rows, () =>
      rows
        .map((row) => {
          const target = row.target === undefined ? '' : ` -> ${printable(row.target)}`;
          return `${modeText(row.kind, row.mode)} ${String(row.size ?? '').padStart(12)} ${printable(row.path)}${target}\n`;
        })
        .join(''),
    );
    return exitStatus.done;
  },
};

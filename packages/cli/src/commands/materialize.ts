import { resolve } from 'node:path';

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRef } from '../ref-argument.js';
import { refuseHome } from '../root-argument.js';
import { bytesText, countText, durationText, printable } from '../text.js';

export const materializeCommand: Command = {
  spec: {
    name: 'materialize',
    summary: 'build the tree of a snapshot in a missing or empty directory',
    arguments: [
      { name: 'REF', help: 'snapshot to build' },
      { name: 'DEST', help: 'directory that is missing or empty' },
    ],
    options: [],
    example: 'holdfast materialize 3f9a0c1d ./copy',
  },
  run: async (context) => {
    const dest = resolve(context.io.cwd, context.arguments.positionals[1] as string);
    await refuseHome(dest, context.home);
    const stack = await context.stack();
    const ref = await resolveRef(stack, context.arguments.positionals[0] as string);
    const { stats } = await stack.store.materialize(ref, dest, {
      signal: context.io.signal,
      onProgress: (progress) => {
        context.progress.update(progress);
      },
    });
    await context.result({ ref, dest, stats }, () => `${printable(dest)}\n`);
    await context.note(
      `${countText(stats.files, 'file')}, ${bytesText(stats.bytes)} in ${durationText(stats.durationMs)}`,
    );
    return exitStatus.done;
  },
};

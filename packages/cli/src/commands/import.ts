import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { UsageError } from '../errors.js';
import { bytesText, countText } from '../text.js';

export const importCommand: Command = {
  spec: {
    name: 'import',
    summary:
      'store a plain tar archive from standard input as a snapshot; hostile or damaged ones are refused as a whole',
    arguments: [],
    options: [],
    example: 'holdfast import < project.tar',
  },
  makesHome: true,
  run: async (context) => {
    const { signal, stdin } = context.io;
    if (stdin.isTerminal) throw new UsageError('import reads an archive from standard input', 'import');
    const stack = await context.stack();
    const result = await stack.importTar(stdin.chunks(), {
      signal,
      onProgress: (progress) => {
        context.progress.update(progress);
      },
    });
    const { ref, stats } = result;
    await context.result(result, () => `${ref}\n`);
    await context.note(`${countText(stats.entries, 'entry', 'entries')}, ${bytesText(stats.bytes)}`);
    return exitStatus.done;
  },
};

import type { MaintainReport } from '@holdfast/workspacestore';

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { countText } from '../text.js';

export const maintainCommand: Command = {
  spec: {
    name: 'maintain',
    summary: 'merge small archives and leave dead ones behind, for every directory of this home',
    arguments: [],
    options: [],
    example: 'holdfast maintain && holdfast gc',
  },
  run: async (context) => {
    const stack = await context.stack();
    const report = await stack.store.maintain({
      saved: true,
      signal: context.io.signal,
      onProgress: ({ merged }) => {
        context.progress.update({ phase: 'merging', files: merged });
      },
    });
    await context.result(report, () => reportText(report));
    return exitStatus.done;
  },
};

function reportText({ roots, merged, rebased }: MaintainReport): string {
  const looked = countText(roots, 'directory', 'directories');
  const done =
    merged === 0 && rebased === 0
      ? 'nothing to do'
      : `merged ${countText(merged, 'group')} of archives, left dead archives of ${countText(rebased, 'directory', 'directories')} behind`;
  return `${looked}: ${done}\n`;
}

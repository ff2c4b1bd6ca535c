import type { SessionSummary } from '@holdfast/journal';

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { printable } from '../text.js';

export const sessionListCommand: Command = {
  spec: {
    name: 'session list',
    summary: 'list the sessions of this home',
    arguments: [],
    options: [],
    example: 'holdfast session list',
  },
  run: async (context) => {
    const stack = await context.stack();
    const rows: SessionSummary[] = [];
    for await (const summary of stack.sessions.list({ signal: context.io.signal })) rows.push(summary);
    await context.result(rows, () =>
      rows
        .map(({ id, title, lastActive, state }) => {
          const when = new Date(lastActive).toISOString();
          return `${id}  ${when}  ${state}${title === undefined ? '' : `  ${printable(title)}`}\n`;
        })
        .join(''),
    );
    return exitStatus.done;
  },
};

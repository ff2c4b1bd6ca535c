import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { listSessions } from '../session-access.js';
import { printable } from '../text.js';

export const sessionListCommand: Command = {
  spec: {
    name: 'session list',
    summary: 'list the sessions of this home: id, last activity, state, root, title',
    arguments: [],
    options: [],
    example: 'holdfast session list',
  },
  run: async (context) => {
    const stack = await context.stack();
    const rows = await listSessions(stack, context.io.signal);
    await context.result(rows, () =>
      rows
        .map(({ id, title, lastActive, state, placement }) => {
          const parts = [id, new Date(lastActive).toISOString(), state.padEnd(7)];
          for (const text of [placement?.root, title]) if (text !== undefined) parts.push(printable(text));
          return `${parts.join('  ').trimEnd()}\n`;
        })
        .join(''),
    );
    return exitStatus.done;
  },
};

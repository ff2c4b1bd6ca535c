import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { deleteSession } from '../delete-session.js';
import { namedSession, sessionArgument } from '../session-argument.js';
import { printable } from '../text.js';
import { asksFor, confirm } from './confirm-plan.js';

export const sessionDeleteCommand: Command = {
  spec: {
    name: 'session delete',
    summary:
      'delete the timeline and the conversation of a session; its files stay, its snapshots until the next gc',
    arguments: [sessionArgument],
    options: [{ name: 'yes', help: 'do not ask' }],
    example: 'holdfast session delete 01m8q4c54a28dpetvjfxh71cj2',
  },
  run: async (context) => {
    const asks = asksFor(context, false);
    const stack = await context.stack();
    const id = await namedSession(context);
    const placement = await deleteSession(
      stack,
      id,
      async (found) => {
        if (!asks) return;
        const files = found === undefined ? '' : ` the files in ${printable(found.root)} stay;`;
        await context.note(
          `session ${id}: its timeline and conversation will be gone for good, and nothing of it can be undone any more;${files} ` +
            'the next gc deletes its snapshots that nothing else needs',
        );
        await confirm(context, 'delete this session?');
      },
      context.io.signal,
    );
    await context.result({ id, root: placement?.root ?? null }, () => `deleted session ${id}\n`);
    return exitStatus.done;
  },
};

import type { ArgumentSpec } from './arguments.js';
import type { CommandContext } from './command.js';

/** The argument of every command that is about one session; the first one of them all. */
export const sessionArgument: ArgumentSpec = {
  name: 'ID',
  help: 'session id, or its first 8 characters or more (see: holdfast session list)',
};

/**
 * Finds the session that the first argument names.
 * @throws InvalidSessionIdError, SessionNotFoundError or AmbiguousSessionIdError; nothing was done.
 */
export async function namedSession(context: CommandContext): Promise<string> {
  const stack = await context.stack();
  return await stack.sessions.resolve(context.arguments.positionals[0] as string, {
    signal: context.io.signal,
  });
}

import { isHoldfastError } from '@holdfast/base';

import { exitStatus } from './command.js';
import { commandWords } from './command-words.js';
import { UsageError } from './errors.js';
import { type CommandIo, Interrupted } from './io.js';
import { printable } from './text.js';

/**
 * Prints a failure (one line with its code, or JSON on standard error) and returns the exit status. Wrong usage names the
 * help of `command`, which the call seems to mean.
 */
export async function reportError(
  error: unknown,
  io: CommandIo,
  json: boolean,
  command?: string,
): Promise<number> {
  if (error instanceof Interrupted) {
    await io.stderr.write(
      json ? jsonLine({ code: 'CLI_INTERRUPTED', message: 'interrupted' }) : 'interrupted\n',
    );
    return exitStatus.interrupted;
  }
  const status = UsageError.is(error) ? exitStatus.usage : exitStatus.failed;
  if (json) {
    await io.stderr.write(jsonLine(errorFields(error)));
    return status;
  }
  const { code, message } = errorFields(error);
  let last = printable(commandWords(String(message)));
  await io.stderr.write(`holdfast: ${last} [${String(code)}]\n`);
  if (status === exitStatus.usage) {
    // The message says all of it; the cause is the parser's wording.
    await io.stderr.write(
      `try: ${['holdfast', ...(command === undefined ? [] : [command])].join(' ')} --help\n`,
    );
    return status;
  }
  for (const line of causeLines(error)) {
    // Many messages end with that of their cause: said once.
    if (!last.includes(line)) await io.stderr.write(`  because ${line}\n`);
    last = line;
  }
  return status;
}

function errorFields(error: unknown): Readonly<Record<string, unknown>> {
  if (isHoldfastError(error)) return error.toJSON();
  const code = (error as { code?: unknown } | null)?.code;
  return {
    code: typeof code === 'string' ? code : 'INTERNAL',
    message: error instanceof Error ? error.message : String(error),
  };
}

function* causeLines(error: unknown): Generator<string> {
  let current: unknown = error instanceof Error ? error.cause : undefined;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    yield printable(commandWords(current.message));
    current = current.cause;
  }
}

function jsonLine(value: unknown): string {
  return `${JSON.stringify({ error: value })}\n`;
}

import { isHoldfastError } from '@holdfast/base';

import { exitStatus } from './command.js';
import { commandWords } from './command-words.js';
import { UsageError } from './errors.js';
import { type CommandIo, Interrupted } from './io.js';
import { printable } from './text.js';

/** Prints a failure (one line with its code, or JSON on standard error) and returns the exit status. */
export async function reportError(error: unknown, io: CommandIo, json: boolean): Promise<number> {
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
  await io.stderr.write(`holdfast: ${printable(commandWords(String(message)))} [${String(code)}]\n`);
  for (const line of causeLines(error)) await io.stderr.write(`  because ${line}\n`);
  if (status === exitStatus.usage) await io.stderr.write('try: holdfast --help\n');
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

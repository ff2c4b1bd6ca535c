import { type Clock, systemClock } from '@holdfast/base';

import { type CommandSpec, commonOptions, parseCommandArguments, usageLine } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { exitStatus } from './command.js';
import { commands } from './commands/index.js';
import { NotAvailableError, UsageError } from './errors.js';
import { chooseHome } from './home.js';
import type { CommandIo } from './io.js';
import { createProgress } from './progress.js';
import { reportError } from './report-error.js';
import type { LocalStack, OpenLocal } from './stack.js';
import { printable } from './text.js';

export interface RunOptions {
  readonly io: CommandIo;
  readonly openLocal: OpenLocal;
  /** Shown by `--version`. */
  readonly version: string;
  readonly clock?: Clock | undefined;
}

/**
 * Runs one command and returns the exit status: 0 done, 1 failed or refused, 2 wrong usage, 130 interrupted.
 * Results go to standard output, everything else to standard error. Never throws.
 */
export async function runCommand(words: readonly string[], options: RunOptions): Promise<number> {
  const json = words.includes('--json');
  try {
    return await dispatch(words, options);
  } catch (error) {
    return await reportError(error, options.io, json, meantCommand(words));
  }
}

async function dispatch(given: readonly string[], options: RunOptions): Promise<number> {
  const { io } = options;
  const words = commandFirst(given);
  const first = words[0];
  if (first === undefined) throw new UsageError('no command was given');
  const help = helpFor(words);
  if (help !== undefined) {
    await io.stdout.write(help);
    return exitStatus.done;
  }
  if (first === '--version') {
    await io.stdout.write(`${options.version}\n`);
    return exitStatus.done;
  }
  const { command, rest } = findCommand(words);
  const parsed = parseCommandArguments(command.spec, rest);
  if (parsed.flag('help')) {
    await io.stdout.write(commandHelp(command.spec));
    return exitStatus.done;
  }
  const home = chooseHome(parsed.value('home'), io);
  const json = parsed.flag('json');
  const progress = createProgress(io.stderr, options.clock ?? systemClock, !json);
  let opened: Promise<LocalStack> | undefined;
  const context: CommandContext = {
    arguments: parsed,
    io,
    json,
    progress,
    home,
    stack: () =>
      (opened ??= options.openLocal(home, {
        create: command.makesHome === true,
        signal: io.signal,
      })),
    result: async (value, text) => {
      await progress.clear();
      await io.stdout.write(json ? `${JSON.stringify(value)}\n` : text());
    },
    note: async (text) => {
      await progress.clear();
      if (!json) await io.stderr.write(`${text}\n`);
    },
  };
  try {
    return await command.run(context);
  } finally {
    await progress.clear();
    if (opened !== undefined) await closeQuietly(opened);
  }
}

/** Closing must not hide the command's own failure; a stack that failed to open has nothing to close. */
async function closeQuietly(opened: Promise<LocalStack>): Promise<void> {
  const stack = await opened.catch(() => undefined);
  await stack?.close();
}

/** Options that every command has may stand before it too. */
function commandFirst(words: readonly string[]): readonly string[] {
  let start = 0;
  while (start < words.length) {
    const word = words[start] as string;
    if (word === '--home') start += 2;
    else if (word === '--json' || word.startsWith('--home=')) start += 1;
    else break;
  }
  return [...words.slice(start), ...words.slice(0, start)];
}

const helpWords: readonly string[] = ['--help', '-h'];

/** The help that was asked for without a whole command: of everything, of `help COMMAND`, or of a group of commands. */
function helpFor(words: readonly string[]): string | undefined {
  const [first = '', second = ''] = words;
  if (helpWords.includes(first)) return overview(commands);
  const asked =
    first === 'help' ? words.slice(1) : helpWords.includes(second) ? words.slice(0, 1) : undefined;
  if (asked === undefined) return undefined;
  if (asked.length === 0) return overview(commands);
  const group = groupOf(asked);
  if (group.length > 0) return overview(group);
  // `COMMAND --help` is parsed as every other call of it.
  return first === 'help' ? commandHelp(findCommand(asked).command.spec) : undefined;
}

/** The commands whose first word is all that was given. */
function groupOf(words: readonly string[]): readonly Command[] {
  return words.length === 1 ? commands.filter(({ spec }) => spec.name.startsWith(`${words[0]} `)) : [];
}

/** The command that a call begins with, or the group of it. */
function meantCommand(given: readonly string[]): string | undefined {
  const words = commandFirst(given);
  const two = words.slice(0, 2).join(' ');
  const found = commands.find(({ spec }) => spec.name === two || spec.name === words[0]);
  return found?.spec.name ?? (groupOf(words.slice(0, 1)).length > 0 ? words[0] : undefined);
}

function findCommand(words: readonly string[]): { command: Command; rest: readonly string[] } {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    const command = commands.find((candidate) => candidate.spec.name === name);
    if (command !== undefined) return { command, rest: words.slice(length) };
  }
  const first = words[0] ?? '';
  const two = `${first} ${words[1] ?? ''}`;
  const planned = plannedCommands.find((name) => name === first || name === two);
  if (planned !== undefined) throw new NotAvailableError(`command ${planned}`);
  const group = groupOf([first]).map(({ spec }) => spec.name);
  if (group.length > 0) throw new UsageError(`${first} needs one of: ${group.join(', ')}`);
  throw new UsageError(`unknown command "${printable(first)}"`);
}

/** Specified commands that are not built yet: refused as such instead of being called unknown. */
const plannedCommands: readonly string[] = ['run', 'hook', 'mcp'];

function overview(shown: readonly Command[]): string {
  const width = Math.max(...shown.map((command) => command.spec.name.length));
  const lines = shown.map((command) => `  ${command.spec.name.padEnd(width)}  ${command.spec.summary}`);
  return [
    'holdfast: checkpoint, inspect, rewind and trust the directory an agent works in',
    '',
    'usage: holdfast COMMAND [arguments] [options]',
    '',
    ...lines,
    '',
    'holdfast COMMAND --help shows arguments, options and an example.',
    'exit status: 0 done, 1 failed or refused, 2 wrong usage, 130 interrupted',
    '',
  ].join('\n');
}

function commandHelp(spec: CommandSpec): string {
  const options = [...spec.options.filter((option) => option.unavailable !== true), ...commonOptions];
  const rows: (readonly [string, string])[] = [
    ...spec.arguments.map((argument) => [argument.name, argument.help] as const),
    ...options.map(
      (option) =>
        [`--${option.name}${option.value === undefined ? '' : ` ${option.value}`}`, option.help] as const,
    ),
  ];
  const width = Math.max(...rows.map(([left]) => left.length));
  return [
    `usage: ${usageLine(spec)}`,
    '',
    spec.summary,
    '',
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    '',
    `example: ${spec.example}`,
    '',
  ].join('\n');
}

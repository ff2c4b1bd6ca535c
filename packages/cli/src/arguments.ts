import { type ParseArgsConfig, parseArgs } from 'node:util';

import { quote } from '@holdfast/base';

import { NotAvailableError, UsageError } from './errors.js';

/** An option of a command. Every option of every command is listed; nothing else is accepted. */
export interface OptionSpec {
  readonly name: string;
  /** Absent for a switch; else what the value is called in the help. */
  readonly value?: string | undefined;
  readonly repeatable?: boolean | undefined;
  readonly help: string;
  /** Specified but not built: using it is refused with `NotAvailableError`. */
  readonly unavailable?: boolean | undefined;
}

export interface ArgumentSpec {
  readonly name: string;
  readonly optional?: boolean | undefined;
  readonly help: string;
}

/** What the parser needs to know of a command. */
export interface CommandSpec {
  /** Words of the command, for example `session log`. */
  readonly name: string;
  readonly summary: string;
  readonly arguments: readonly ArgumentSpec[];
  readonly options: readonly OptionSpec[];
  readonly example: string;
}

/** The arguments of one call, checked against the spec. */
export interface ParsedArguments {
  readonly positionals: readonly string[];
  /** Value of an option given at most once. */
  value(name: string): string | undefined;
  /** Values of a repeatable option, in order. */
  values(name: string): readonly string[];
  /** Whether a switch was given. */
  flag(name: string): boolean;
}

/** Options every command has. */
export const commonOptions: readonly OptionSpec[] = [
  {
    name: 'home',
    value: 'DIR',
    help: 'where snapshots and journals are kept (default: HOLDFAST_HOME, else the user data directory)',
  },
  { name: 'json', help: 'print one JSON value on standard output, errors as JSON on standard error' },
  { name: 'help', help: 'show this help' },
];

/**
 * Parses the words after a command's name.
 * @throws UsageError for anything the spec does not list.
 * @throws NotAvailableError for an option that is listed as unavailable.
 */
export function parseCommandArguments(spec: CommandSpec, words: readonly string[]): ParsedArguments {
  const known = [...spec.options, ...commonOptions];
  const { values, positionals, tokens } = parse(spec, known, words);
  for (const option of known) {
    if (option.unavailable === true && values[option.name] !== undefined) {
      throw new NotAvailableError(`option --${option.name} of ${spec.name}`);
    }
    const given = tokens.filter((token) => token.kind === 'option' && token.name === option.name).length;
    if (option.repeatable !== true && given > 1) {
      throw new UsageError(`option --${option.name} was given ${given} times; give it once`, spec.name);
    }
  }
  if (values['help'] !== true) {
    checkCount(spec, positionals);
    checkEmpty(spec, positionals, values);
  }
  return {
    positionals,
    value: (name) => {
      const value = values[name];
      return typeof value === 'string' ? value : undefined;
    },
    values: (name) => {
      const value = values[name];
      return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
    },
    flag: (name) => values[name] === true,
  };
}

function parse(spec: CommandSpec, known: readonly OptionSpec[], words: readonly string[]) {
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const option of known) {
    options[option.name] = {
      type: option.value === undefined ? 'boolean' : 'string',
      ...(option.repeatable === true ? { multiple: true } : {}),
      ...(option.name === 'help' ? { short: 'h' } : {}),
    };
  }
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, strict: true, tokens: true });
  } catch (error) {
    throw new UsageError(`${spec.name}: ${parserReason(error)}`, spec.name, { cause: error });
  }
}

/** The parser's reason without its advice, which is about positional arguments that no command has. */
function parserReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [reason = ''] = message.split(/\. To specify |\n/);
  const ambiguous = /^Option '(--[\w-]+)' argument is ambiguous/.exec(reason);
  if (ambiguous !== null) {
    return `option ${ambiguous[1]} needs a value; write ${ambiguous[1]}=VALUE if it begins with a dash`;
  }
  return reason.replace(/\.$/, '');
}

function checkCount(spec: CommandSpec, positionals: readonly string[]): void {
  const required = spec.arguments.filter((argument) => argument.optional !== true);
  const missing = required[positionals.length];
  if (missing !== undefined) {
    throw new UsageError(`${spec.name}: ${missing.name} is missing; usage: ${usageLine(spec)}`, spec.name);
  }
  const extra = positionals[spec.arguments.length];
  if (extra !== undefined) {
    throw new UsageError(
      `${spec.name}: unexpected argument ${quote(extra)}; usage: ${usageLine(spec)}`,
      spec.name,
    );
  }
}

/** An empty argument is a variable that was not set: it never means the current directory or a default. */
function checkEmpty(
  spec: CommandSpec,
  positionals: readonly string[],
  values: Readonly<Record<string, unknown>>,
): void {
  const position = positionals.indexOf('');
  if (position >= 0) {
    throw new UsageError(
      `${spec.name}: ${spec.arguments[position]?.name ?? 'an argument'} is empty`,
      spec.name,
    );
  }
  for (const [name, value] of Object.entries(values)) {
    if ((Array.isArray(value) ? value : [value]).includes('')) {
      throw new UsageError(`${spec.name}: option --${name} is empty`, spec.name);
    }
  }
}

/** One line that shows how to call a command. */
export function usageLine(spec: CommandSpec): string {
  const words = spec.arguments.map((argument) =>
    argument.optional === true ? `[${argument.name}]` : argument.name,
  );
  return ['holdfast', spec.name, ...words, '[options]'].join(' ');
}

/** A non-negative whole number, optionally with a unit (`64k`, `10MiB`, `2G`); units are powers of 1024. */
export function parseByteCount(text: string, option: string): number {
  const match = /^(\d+)(?:([kmgt])(?:i?b)?)?$/i.exec(text);
  const unit = (match?.[2] ?? '').toLowerCase();
  const value =
    match === null ? Number.NaN : Number(match[1]) * 1024 ** ' kmgt'.indexOf(unit === '' ? ' ' : unit);
  if (!Number.isSafeInteger(value)) {
    throw new UsageError(
      `option --${option}: ${quote(text)} is not a byte count; write for example 1048576 or 1MiB`,
    );
  }
  return value;
}

/** One of a fixed set of words. */
export function parseChoice<T extends string>(text: string, option: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) {
    throw new UsageError(`option --${option}: ${quote(text)} is not one of ${choices.join(', ')}`);
  }
  return found;
}

/** A duration with its unit (`90s`, `15m`, `36h`, `7d`), in milliseconds. */
export function parseDuration(text: string, option: string): number {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  const value = match === null ? Number.NaN : Number(match[1]) * (units[match[2] ?? ''] ?? Number.NaN);
  if (!Number.isSafeInteger(value)) {
    throw new UsageError(
      `option --${option}: ${quote(text)} is not a duration; write for example 90s, 36h or 7d`,
    );
  }
  return value;
}

/** A whole number of at least 0. */
export function parseCount(text: string, option: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw new UsageError(`option --${option}: ${quote(text)} is not a whole number`);
  }
  return Number(text);
}

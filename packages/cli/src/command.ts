import type { CommandSpec, ParsedArguments } from './arguments.js';
import type { CommandIo } from './io.js';
import type { Progress } from './progress.js';
import type { LocalStack } from './stack.js';

/** What a command is given to work with. */
export interface CommandContext {
  readonly arguments: ParsedArguments;
  readonly io: CommandIo;
  readonly json: boolean;
  readonly progress: Progress;
  /** Absolute path of the chosen home. */
  readonly home: string;
  /** Opens the stack once; the caller of the command closes it. */
  stack(): Promise<LocalStack>;
  /** Prints a result: the value as JSON with `--json`, else the text. Nothing else goes to standard output. */
  result(value: unknown, text: () => string): Promise<void>;
  /** A line for people on standard error; silent with `--json`. */
  note(text: string): Promise<void>;
}

/** A command: its spec and what it does. `run` returns the exit status. */
export interface Command {
  readonly spec: CommandSpec;
  /** Whether it makes a home that does not exist; default: it refuses, because there is nothing to look at. */
  readonly makesHome?: boolean | undefined;
  readonly run: (context: CommandContext) => Promise<number>;
}

/** Exit statuses of the command. */
export const exitStatus = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

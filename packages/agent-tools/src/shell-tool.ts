import { throwIfAborted } from '@holdfast/base';
import { defineTool, type ToolDefinition } from '@holdfast/session';

import { inputSchema, integer, optional, text } from './input-schema.js';
import { runCommand } from './internal/run-command.js';
import { workbench } from './internal/workbench.js';
import type { WorkspaceToolsOptions } from './options.js';

export interface ShellInput {
  readonly command: string;
  /** Milliseconds until the command is cut short; at most, and by default, the limit of the tool. */
  readonly timeoutMs?: number | undefined;
}

export type ShellOutput = {
  /** `null` when a signal ended the command. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The command was cut short because its time was over. */
  readonly timedOut: boolean;
  /** Beginning and end of the output, with a note between them when bytes are left out. */
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutOmitted: number;
  readonly stderrOmitted: number;
  readonly durationMs: number;
};

/**
 * Runs a command in the root of the workspace. Nothing else changes the workspace meanwhile, checkpoints and restores
 * wait, and every process it started is gone when the call ends. Afterwards the loop knows no file any more.
 *
 * A command that fails is a result. Calls throw ShellStartError, ProcessesLeftError.
 */
export function shellTool(
  options: WorkspaceToolsOptions = {},
): ToolDefinition<'shell', ShellInput, ShellOutput> {
  const longest = options.limits?.shellMs ?? 600_000;
  const schema = inputSchema<ShellInput>({
    command: text({ description: 'Command for the shell', minLength: 1, maxLength: 100_000 }),
    timeoutMs: optional(
      integer({
        description: `Milliseconds until it is ended; default ${longest}`,
        minimum: 1,
        maximum: longest,
      }),
    ),
  });
  return defineTool({
    name: 'shell',
    description:
      'Runs a shell command in the workspace and waits for its end. Background processes do not outlive it. Read files again afterwards.',
    input: schema,
    inputJsonSchema: schema.jsonSchema,
    requires: { workspace: true, processes: true },
    bind: (context) => {
      const bench = workbench('shell', context, options);
      return async ({ command, timeoutMs = bench.limits.shellMs }, call) => {
        throwIfAborted(call.signal);
        return await runCommand(bench, command, timeoutMs, call);
      };
    },
  });
}

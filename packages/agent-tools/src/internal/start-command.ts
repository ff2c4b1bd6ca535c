import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

import { randomHex } from '@holdfast/base';

import { ShellStartError } from '../errors.js';
import { CommandProcesses } from './command-processes.js';
import type { Workbench } from './workbench.js';

/** Variable that marks the processes of one command, so that those that leave its process group are found. */
const markVariable = 'HOLDFAST_COMMAND';

const harmlessVariables = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

/**
 * Runs around the command. A guard in the same process group reads from a pipe that only this process holds open: when
 * this process is gone, however it went, the guard reads the end and kills the group. The trap keeps this shell until
 * the command has ended, and unlike an ignored signal is not inherited by it; waiting for the guard leaves no zombie.
 */
const frame = `trap : TERM
{ trap '' HUP INT TERM; read -r line; kill -KILL 0; } <&3 >/dev/null 2>&1 &
guard=$!
"$0" -c "$1" 3<&-
status=$?
kill -KILL $guard
wait $guard 2>/dev/null
exit $status`;

/** A command that is running. */
export interface RunningCommand {
  readonly child: ChildProcess;
  readonly processes: CommandProcesses;
  /** Settles when the first process has ended. */
  readonly exited: Promise<CommandExit>;
  /** Settles when all output has come. */
  readonly closed: Promise<void>;
}

export interface CommandExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/**
 * Starts a command in a process group of its own, in the root of the workspace, with an empty input.
 * @throws ShellStartError
 */
export async function startCommand(bench: Workbench, command: string): Promise<RunningCommand> {
  if (process.platform === 'win32') throw new ShellStartError('process groups are not available here');
  const mark = randomHex(bench.random, 16);
  const child = spawn('/bin/sh', ['-c', frame, bench.shell.program ?? '/bin/sh', command], {
    cwd: bench.workspace.root,
    env: { ...(bench.shell.environment ?? harmlessEnvironment()), [markVariable]: mark },
    // The fourth is the guard's.
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const exited = new Promise<CommandExit>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  const failure = await new Promise<Error | undefined>((resolve) => {
    child.once('spawn', () => resolve(undefined)).once('error', resolve);
  });
  if (failure !== undefined || child.pid === undefined) {
    throw new ShellStartError(failure?.message ?? 'it has no process', { cause: failure });
  }
  const guardPipe = child.stdio[3] as Socket | null | undefined;
  // It breaks when the guard is killed, and has to be read for its end to be seen.
  guardPipe?.on('error', () => undefined).resume();
  const processes = new CommandProcesses(child.pid, `${markVariable}=${mark}`, bench.clock);
  return { child, processes, exited, closed };
}

function harmlessEnvironment(): Record<string, string> {
  return Object.fromEntries(
    harmlessVariables.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

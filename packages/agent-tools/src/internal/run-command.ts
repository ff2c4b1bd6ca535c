import { onAbort, throwIfAborted } from '@holdfast/base';
import type { ToolCallOptions } from '@holdfast/session';

import { ProcessesLeftError, ShellStartError } from '../errors.js';
import { BoundedOutput } from './bounded-output.js';
import { type CommandExit, type RunningCommand, startCommand } from './start-command.js';
import { holderOf, type Workbench } from './workbench.js';

/** What a command did and printed. */
export interface CommandResult extends CommandExit {
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutOmitted: number;
  readonly stderrOmitted: number;
  readonly durationMs: number;
}

const defaultGraceMs = 500;
/** Output of processes that are gone is in a pipe of this process; reading it takes a moment, not more. */
const drainMs = 2000;

// 1. Wait to be admitted: a lifetime that may write anything keeps out every change, checkpoint and restore, and is
//    itself kept out while a restore has admission suspended.
// 2. Start, and wait for the end, the abort or the time. 3. End every process; forget what the loop has seen.
// 4. Give the permit back, but never while a process is left.
export async function runCommand(
  bench: Workbench,
  command: string,
  timeoutMs: number,
  call: ToolCallOptions,
): Promise<CommandResult> {
  const { clock, limits, workspace } = bench;
  if (command.includes('\0')) throw new ShellStartError('a command cannot hold NUL');
  const permit = await workspace.coordinator.acquire(
    { operation: 'lifetime', access: 'broad-write' },
    { holder: { ...holderOf(bench, call), note: 'shell' }, signal: call.signal },
  );
  let released: Promise<void> | undefined;
  try {
    await workspace.coordinator.healthy({ signal: call.signal });
    const started = clock.monotonic();
    const running = await startCommand(bench, command);
    const stdout = collect(running.child.stdout, limits.outputBytes);
    const stderr = collect(running.child.stderr, limits.outputBytes);
    const { exit, timedOut } = await awaitExit(bench, running, timeoutMs, call.signal);
    const durationMs = Math.round(clock.monotonic() - started);
    const left = await running.processes.end();
    workspace.observations.forgetAll();
    if (left.length > 0) {
      released = running.processes.gone().finally(() => {
        permit.release();
      });
      throw new ProcessesLeftError(left);
    }
    await drained(bench, running);
    throwIfAborted(call.signal);
    return {
      ...exit,
      timedOut,
      stdout: stdout.text(),
      stderr: stderr.text(),
      stdoutOmitted: stdout.omitted,
      stderrOmitted: stderr.omitted,
      durationMs,
    };
  } finally {
    if (released === undefined) permit.release();
    else released.catch(() => undefined);
  }
}

/** Waits until the first process has ended, by itself or because it was told to. */
async function awaitExit(
  bench: Workbench,
  running: RunningCommand,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly exit: CommandExit; readonly timedOut: boolean }> {
  let timedOut = false;
  using cut = cutShort(bench, running);
  using _abort = onAbort(signal, () => {
    cut.now();
  });
  using _limit = bench.clock.schedule(timeoutMs, () => {
    timedOut = true;
    cut.now();
  });
  const exit = await running.exited;
  return { exit, timedOut };
}

async function drained(bench: Workbench, running: RunningCommand): Promise<void> {
  await new Promise<void>((resolve) => {
    const limit = bench.clock.schedule(drainMs, resolve);
    running.closed.then(() => {
      limit[Symbol.dispose]();
      resolve();
    }, resolve);
  });
}

/** Asks the command to end, and kills it when it has not done so after the grace. */
function cutShort(bench: Workbench, running: RunningCommand): Disposable & { now(): void } {
  let timer: Disposable | undefined;
  return {
    now: () => {
      if (timer !== undefined) return;
      running.processes.terminate();
      timer = bench.clock.schedule(bench.shell.graceMs ?? defaultGraceMs, () => {
        running.processes.kill();
      });
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}

function collect(stream: NodeJS.ReadableStream | null, maxBytes: number): BoundedOutput {
  const output = new BoundedOutput(maxBytes);
  stream?.on('data', (chunk: Buffer) => {
    output.push(chunk);
  });
  // An output that fails has ended; what came before is kept.
  stream?.on('error', () => undefined);
  return output;
}

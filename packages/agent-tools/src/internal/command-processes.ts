import type { Clock } from '@holdfast/base';

import { processesOf } from './process-table.js';

/** Milliseconds that killed processes get to disappear before somebody is told. */
const disappearMs = 5000;
const longestPauseMs = 100;

/** The processes of one command, which are all gone when it is over. */
export class CommandProcesses {
  /** Process group; the pid of the command's first process. */
  readonly group: number;
  readonly #mark: string;
  readonly #clock: Clock;

  constructor(group: number, mark: string, clock: Clock) {
    this.group = group;
    this.#mark = mark;
    this.#clock = clock;
  }

  /** Asks the group to end. */
  terminate(): void {
    send(-this.group, 'SIGTERM');
  }

  /** Kills every process and waits until none is left; returns those that do not go away in time. */
  async end(): Promise<readonly number[]> {
    const deadline = this.#clock.monotonic() + disappearMs;
    for (let pause = 1; ; pause = Math.min(pause * 2, longestPauseMs)) {
      const left = this.kill();
      if (left.length === 0 || this.#clock.monotonic() > deadline) return left;
      await this.#clock.sleep(pause);
    }
  }

  /** Waits as long as it takes. */
  async gone(): Promise<void> {
    while (this.kill().length > 0) await this.#clock.sleep(longestPauseMs);
  }

  /** Kills what lives and returns it. */
  kill(): readonly number[] {
    const living = processesOf(this.group, this.#mark);
    if (living === undefined) return send(-this.group, 'SIGKILL') ? [this.group] : [];
    for (const pid of living) send(pid, 'SIGKILL');
    return living;
  }
}

/** `false` when nobody is there to get it. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    // Gone, or (another user's by now) not ours to signal.
    return false;
  }
}

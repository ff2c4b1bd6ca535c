import type { Clock } from '@holdfast/base';

import { ShutdownError, type ShutdownPhase } from '../errors.js';

/** Milliseconds that each phase of a shutdown may take. */
export type ShutdownDeadlines = Readonly<Record<ShutdownPhase, number>>;

/** The deadlines that apply unless others are given. */
export const defaultShutdownDeadlines: ShutdownDeadlines = Object.freeze({
  control: 5_000,
  loops: 30_000,
  restore: 30_000,
  checkpoints: 30_000,
  processes: 10_000,
  journal: 10_000,
  'root-lease': 10_000,
  'session-lease': 10_000,
});

/** One phase: it gets a signal that aborts at its deadline, and a moment longer to come to an end. */
export interface PhaseWork {
  readonly phase: ShutdownPhase;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Milliseconds that a phase gets to stop after its signal was aborted. */
const graceAfterDeadline = 1000;

/**
 * Runs every phase in order. A phase that fails or does not end is noted and left behind; it never keeps the later ones
 * from running.
 * @throws ShutdownError when there was any.
 */
export async function runPhases(
  sessionId: string,
  phases: readonly PhaseWork[],
  deadlines: ShutdownDeadlines,
  clock: Clock,
): Promise<void> {
  const failed: { phase: ShutdownPhase; kind: 'failed' | 'timeout' }[] = [];
  const causes: unknown[] = [];
  for (const { phase, run } of phases) {
    const deadline = new AbortController();
    const timedOut = new Error(`phase ${phase} did not end within ${deadlines[phase]} ms`);
    using _deadline = clock.schedule(deadlines[phase], () => {
      deadline.abort(timedOut);
    });
    try {
      await endOrGiveUp(run(deadline.signal), deadlines[phase] + graceAfterDeadline, timedOut, clock);
      if (!deadline.signal.aborted) continue;
      failed.push({ phase, kind: 'timeout' });
      causes.push(timedOut);
    } catch (error) {
      failed.push({ phase, kind: error === timedOut ? 'timeout' : 'failed' });
      causes.push(error);
    }
  }
  if (failed.length > 0) throw new ShutdownError(sessionId, failed, causes);
}

async function endOrGiveUp(
  work: Promise<void>,
  milliseconds: number,
  reason: Error,
  clock: Clock,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const limit = clock.schedule(milliseconds, () => {
      reject(reason);
    });
    work.then(resolve, reject).finally(() => {
      limit[Symbol.dispose]();
    });
  });
}

import type { Clock } from '@holdfast/base';

import type { OutputStream } from './io.js';
import { bytesText } from './text.js';

/** Reports how far a long operation is. */
export interface Progress {
  update(state: {
    readonly phase: string;
    readonly files?: number | undefined;
    readonly bytes?: number | undefined;
  }): void;
  /** Removes the line. */
  clear(): Promise<void>;
}

const firstShownAfter = 500;
const redrawEvery = 100;

/**
 * A progress line on a terminal for anything that takes longer than half a second: phase, files, bytes and rate.
 * Elsewhere it is silent.
 */
export function createProgress(stream: OutputStream, clock: Clock, enabled: boolean): Progress {
  if (!enabled || !stream.isTerminal) return { update: () => undefined, clear: () => Promise.resolve() };
  const start = clock.monotonic();
  let lastDrawn = Number.NEGATIVE_INFINITY;
  let drawn = false;
  let writing: Promise<void> = Promise.resolve();
  const enqueue = (text: string): void => {
    // A progress line that cannot be written must not fail the work it reports.
    writing = writing.then(() => stream.write(text)).catch(() => undefined);
  };
  return {
    update: (state) => {
      const now = clock.monotonic();
      if (now - start < firstShownAfter || now - lastDrawn < redrawEvery) return;
      lastDrawn = now;
      drawn = true;
      const parts = [state.phase];
      if (state.files !== undefined) parts.push(`${state.files} files`);
      if (state.bytes !== undefined) {
        parts.push(bytesText(state.bytes), `${bytesText((state.bytes * 1000) / Math.max(1, now - start))}/s`);
      }
      enqueue(`\r\u001b[K${parts.join('  ').slice(0, Math.max(10, stream.columns - 1))}`);
    },
    clear: async () => {
      if (drawn) enqueue('\r\u001b[K');
      drawn = false;
      await writing;
    },
  };
}

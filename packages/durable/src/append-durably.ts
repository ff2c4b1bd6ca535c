import { throwIfAborted } from '@holdfast/base';

import { FileSystemError, HandleClosedError, OutcomeUncertainError, SyncFailedError } from './errors.js';
import type { File } from './file.js';
import { runSteps, runStepsSync, type Steps, syncStep } from './internal/steps.js';

export interface AppendOptions {
  /** Where to write; default: the end of the file. Pass it when earlier appends may have left a torn tail. */
  readonly position?: number | undefined;
  /** Observed before the write only. */
  readonly signal?: AbortSignal | undefined;
}

export interface Appended {
  /** Where the bytes begin. */
  readonly position: number;
  /** Where the next append belongs. */
  readonly end: number;
}

const nameless = new Uint8Array(0);

/**
 * Adds bytes to an open file and makes them durable, with one write and one sync. A crash before this resolves may
 * leave any prefix of them, or zeros: the caller's format must tell a whole record from a torn one. The name of the
 * file is the business of whoever created it.
 *
 * @throws OutcomeUncertainError when a failure came during the write or the sync. After a failed sync the file accepts
 *   nothing any more (`SyncFailedError`).
 */
export async function appendDurably(
  file: File,
  bytes: Uint8Array,
  options: AppendOptions = {},
): Promise<Appended> {
  return await runSteps(appendSteps(file, bytes, options));
}

/** {@link appendDurably} without giving up the thread. */
export function appendDurablySync(file: File, bytes: Uint8Array, options: AppendOptions = {}): Appended {
  return runStepsSync(appendSteps(file, bytes, options));
}

// 1. One write, so that a reader meets a prefix of the record and never a mix of two.
// 2. Sync the content (length included); a failure is final for this open file.
function* appendSteps(file: File, bytes: Uint8Array, options: AppendOptions): Steps<Appended> {
  throwIfAborted(options.signal);
  const position = options.position ?? file.stat().size;
  try {
    file.write(bytes, position);
    yield* syncStep([file], 'content');
  } catch (error) {
    if (HandleClosedError.is(error)) throw error;
    if (!FileSystemError.is(error) && !SyncFailedError.is(error)) throw error;
    throw new OutcomeUncertainError('append', nameless, { cause: error });
  }
  return { position, end: position + bytes.length };
}

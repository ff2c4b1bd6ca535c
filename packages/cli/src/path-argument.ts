import { decodePathText } from '@holdfast/base';

import { UsageError } from './errors.js';

/** Checks a path inside a snapshot or root as people write it: a backslash doubled, a raw byte as `\xHH`. */
export function checkPathText(text: string, what: string): string {
  try {
    decodePathText(text);
    return text;
  } catch (error) {
    throw new UsageError(`${what}: ${error instanceof Error ? error.message : String(error)}`, undefined, {
      cause: error,
    });
  }
}

/**
 * Runs what takes paths from the command line. The library calls a path that names nothing an argument mistake; here it
 * is the user's.
 */
export async function withPathsOf<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message, undefined, { cause: error });
    throw error;
  }
}

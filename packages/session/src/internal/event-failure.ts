import { isHoldfastError } from '@holdfast/base';
import type { EventFailure } from '@holdfast/journal';

/** What events show of an error: its code, its kind and its message, never its fields or causes. */
export function eventFailure(error: unknown): EventFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (!isHoldfastError(error)) return { message };
  const { kind } = error as { kind?: unknown };
  return { code: error.code, message, ...(typeof kind === 'string' ? { kind } : {}) };
}

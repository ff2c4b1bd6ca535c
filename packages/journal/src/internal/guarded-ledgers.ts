import { InvalidNameError, throwIfAborted } from '@holdfast/base';

import { LedgerBackendError } from '../errors.js';
import { isJournalError } from '../journal-error.js';
import type { LedgerCallOptions } from '../ledger.js';
import type { SessionLedgers, SessionNotes } from '../session-ledgers.js';

/** The same ledgers, with what they throw made uniform: aborts are the signal's reason, unknown failures one class. */
export function guardLedgers(ledgers: SessionLedgers): SessionLedgers {
  return {
    notes: ledgers.notes === undefined ? undefined : guardNotes(ledgers.notes),
    exists: async (id, options) => await guard('exists', id, options, () => ledgers.exists(id, options)),
    open: async (id, options) => await guard('open', id, options, () => ledgers.open(id, options)),
    list: async function* (options) {
      try {
        yield* ledgers.list(options);
      } catch (error) {
        throw uniform('list', undefined, options, false, error);
      }
    },
    delete: async (id, options) => {
      await guard('delete', id, options, () => ledgers.delete(id, options), true);
    },
    storagePaths: () => ledgers.storagePaths(),
    close: async () => {
      await ledgers.close();
    },
    [Symbol.asyncDispose]: async () => {
      await ledgers.close();
    },
  };
}

function guardNotes(notes: SessionNotes): SessionNotes {
  return {
    read: async (id, kind, options) =>
      await guard('read note', id, options, () => notes.read(id, kind, options)),
    write: async (id, kind, bytes, options) => {
      await guard('write note', id, options, () => notes.write(id, kind, bytes, options));
    },
  };
}

async function guard<T>(
  operation: string,
  sessionId: string,
  options: LedgerCallOptions | undefined,
  work: () => Promise<T>,
  mutation = false,
): Promise<T> {
  throwIfAborted(options?.signal);
  try {
    return await work();
  } catch (error) {
    throw uniform(operation, sessionId, options, mutation, error);
  }
}

function uniform(
  operation: string,
  sessionId: string | undefined,
  options: LedgerCallOptions | undefined,
  mutation: boolean,
  error: unknown,
): unknown {
  const signal = options?.signal;
  if (signal?.aborted === true) {
    const { name } = (error ?? {}) as { readonly name?: unknown };
    if (error === signal.reason || name === 'AbortError') return signal.reason;
  }
  if (isJournalError(error) || InvalidNameError.is(error)) return error;
  return new LedgerBackendError(operation, sessionId, { cause: error, mutation });
}

import { isHoldfastError } from '@holdfast/base';
import type { RequiredRef } from '@holdfast/cli';
import type { SessionLedgers, SessionStore } from '@holdfast/journal';
import { parseRef } from '@holdfast/workspacestore';

import type { JournalKind, KnownJournals, LetGoRefs } from './known-journals.js';
import { neededRefs, refsOf } from './live-refs.js';

/** The journals of a home, and what is remembered about them. */
export interface HomeJournals {
  readonly stores: Readonly<Record<JournalKind, SessionStore>>;
  readonly ledgers: Readonly<Record<JournalKind, SessionLedgers>>;
  readonly known: KnownJournals;
  readonly letGo: LetGoRefs;
}

/**
 * Yields what the journals of a home need from its store: every ref that they name, except those that a collection was
 * told to let go and that nothing depends on; and the journals that are lost or cannot be read.
 */
export async function* requiredRefs(
  { stores, ledgers, known, letGo }: HomeJournals,
  signal: AbortSignal | undefined,
): AsyncGenerator<RequiredRef, void, undefined> {
  const gone = letGo.all();
  for (const kind of ['session', 'root'] as const) {
    for (const { id } of await known.lost(kind, ledgers[kind])) yield { kind, id, problem: 'lost' };
    for await (const { id, title } of stores[kind].list({ signal })) {
      try {
        const needed = gone.size === 0 ? undefined : await neededRefs(stores[kind], id, signal);
        for await (const ref of refsOf(stores[kind], id, signal)) {
          if (!gone.has(ref) || needed?.has(ref) === true) yield { kind, id, title, ref: parseRef(ref) };
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (!isHoldfastError(error)) throw error;
        yield { kind, id, title, problem: error };
      }
    }
  }
}

import type { Ref } from '../ref.js';
import type { ArchiveRef, CommitRecord, RecordStats } from './record.js';
import type { StoreContext } from './store-context.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** A commit that was made, or the archives that it may not rely on. */
export type CommitOutcome = { readonly hold: string } | { readonly absent: ReadonlySet<string> };

/**
 * Commits a snapshot whose archives have been put.
 *
 * 1. Every archive that the record names is proved: not condemned and there, after this writer registered.
 * 2. The slot is won: point of no return. 3. The copy under the ref is durable.
 */
export async function commitArchives(
  context: StoreContext,
  ref: Ref,
  archives: readonly ArchiveRef[],
  stats: RecordStats,
  options: Options,
): Promise<CommitOutcome> {
  const names = archives.map(({ name }) => name);
  const proof = await context.log.prove(names, options);
  if (proof.absent.size > 0) return { absent: proof.absent };
  const record = { kind: 'commit', ref, archives, stats } satisfies Omit<
    CommitRecord,
    'writer' | 'slot' | 'released'
  >;
  const won = await context.log.put(record, proof, options);
  // Retired: register again and look at every archive once more.
  if (won === undefined) return { absent: (await context.log.prove(names, options)).absent };
  try {
    await context.records.putCopy({ ...record, ...won, released: [] }, won.bytes, {});
  } catch (error) {
    // Nobody will ever name this commit: it need not be kept.
    context.log.release(won.hold);
    throw error;
  }
  return { hold: won.hold };
}

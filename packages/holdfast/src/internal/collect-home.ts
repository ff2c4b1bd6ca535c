import { type Clock, quote, type Random, randomHex } from '@holdfast/base';
import type { LocalCollectOptions } from '@holdfast/cli';
import type { SessionStore } from '@holdfast/journal';
import {
  type CollectCounts,
  CollectError,
  type CollectReport,
  type Ref,
  type WorkspaceStore,
} from '@holdfast/workspacestore';

import type { LostJournal } from './known-journals.js';
import { liveRefs } from './live-refs.js';
import { type HomeJournals, requiredRefs } from './required-refs.js';

export interface HomeParts extends HomeJournals {
  readonly store: WorkspaceStore;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Deletes what no journal of a home needs.
 * @throws CollectError when a journal that the home has had was lost and not forgotten by name: what it needed cannot be
 * told any more. And when `forget` names what is not gone, or does not name one journal.
 */
export async function collectHome(
  parts: HomeParts,
  { retention, forget = [], ...options }: LocalCollectOptions,
): Promise<CollectReport> {
  const { store, clock, random, letGo } = parts;
  const journals = [parts.stores.session, parts.stores.root];
  await refuseLostJournals(parts, forget, options.dryRun === true);
  if (await hasJournal(journals, options.signal)) {
    // What the policy gives up is noted whenever it is asked, so before anything is decided by the answer: a verification
    // must not take it for lost.
    const onLetGo =
      options.dryRun === true
        ? undefined
        : async (refs: ReadonlySet<Ref>) => await letGo.add(randomHex(random, 16), refs);
    const call = { journals, retention, clock, onLetGo, signal: options.signal };
    const report = await store.collect({ ...options, live: () => liveRefs(call) });
    return { ...report, missing: await notLetGo(parts, report.missing, options.signal) };
  }
  // Without a journal nobody can say what is needed: more likely the journals are gone than that nothing matters.
  const { deleted, kept, ...rest } = await store.collect({ ...options, dryRun: true, live: () => [] });
  return { ...rest, dryRun: options.dryRun ?? false, deleted: none, kept: sum(deleted, kept) };
}

/** Of the refs that are not in the store, those that no earlier collection was told to give up. */
async function notLetGo(
  journals: HomeJournals,
  missing: readonly Ref[],
  signal: AbortSignal | undefined,
): Promise<readonly Ref[]> {
  if (missing.length === 0) return missing;
  const required = new Set<Ref>();
  for await (const needed of requiredRefs(journals, signal)) if ('ref' in needed) required.add(needed.ref);
  return missing.filter((ref) => required.has(ref));
}

async function refuseLostJournals(
  { known, ledgers }: HomeJournals,
  forget: readonly string[],
  dryRun: boolean,
): Promise<void> {
  const lost = [
    ...(await known.lost('session', ledgers.session)),
    ...(await known.lost('root', ledgers.root)),
  ];
  const named = forget.map((text) => ({ text, journals: namedBy(text, lost) }));
  const given = new Set(named.flatMap(({ journals }) => journals));
  const missed = lost.filter((journal) => !given.has(journal)).map(({ kind, id }) => `${kind} ${id}`);
  if (missed.length > 0) {
    throw new CollectError(
      'mark',
      `the journal of ${missed.slice(0, 3).join(', ')}${missed.length > 3 ? ` and ${missed.length - 3} more` : ''} was lost, ` +
        'and what it needed cannot be told; bring it back, or give its snapshots up with --forget ID; nothing was deleted',
    );
  }
  const unknown = named.filter(({ journals }) => journals.length === 0).map(({ text }) => quote(text));
  if (unknown.length > 0) {
    throw new CollectError(
      'forget',
      `no journal that was lost is named by ${unknown.join(', ')}; leave that --forget out: only what a lost journal needed can ` +
        'be given up, and verify says which are; nothing was deleted',
    );
  }
  if (!dryRun) for (const journal of given) await known.giveUp(journal, ledgers[journal.kind]);
}

const leastPrefix = 8;

/** The journals of an id, or else the one that alone begins with it. */
function namedBy(text: string, lost: readonly LostJournal[]): readonly LostJournal[] {
  const whole = lost.filter(({ id }) => id === text);
  if (whole.length > 0 || text.length < leastPrefix) return whole;
  const begun = lost.filter(({ id }) => id.startsWith(text));
  return begun.length === 1 ? begun : [];
}

const none: CollectCounts = Object.freeze({ records: 0, archives: 0, forwards: 0, bytes: 0 });

function sum(a: CollectCounts, b: CollectCounts): CollectCounts {
  return {
    records: a.records + b.records,
    archives: a.archives + b.archives,
    forwards: a.forwards + b.forwards,
    bytes: a.bytes + b.bytes,
  };
}

async function hasJournal(
  journals: readonly SessionStore[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for (const journal of journals) {
    for await (const _session of journal.list({ signal })) return true;
  }
  return false;
}

import { HoldfastError, randomHex, sha256Hex, throwIfAborted } from '@holdfast/base';
import { BlobConflictError, type Blobs, BlobsUnsupportedError } from '@holdfast/blobs';

import type { CollectCounts, CollectOptions, CollectProgress, CollectReport } from '../collection.js';
import { CollectError } from '../errors.js';
import { parseRef, type Ref } from '../ref.js';
import { finishCollection, finishLeftovers, putDecision } from './collection-end.js';
import { encodeCollectionList } from './collection-lists.js';
import { findReachable, type Reachable } from './reachability.js';
import type { StoreContext } from './store-context.js';
import { archiveKey, collectionKey, forwardKey, parseArchiveKey } from './store-keys.js';
import { readLogs, type StoreSurvey, surveyStore, type WriterLogs } from './store-survey.js';
import { retireWriters, trimLogs } from './writer-logs.js';

/**
 * Deletes what nothing needs, beside writers and other collectors that do not wait for it.
 *
 * 0. What other collections left behind is ended: without a decision it is aborted, with one it is carried out.
 * 1. Mark; put the list of the condemned. Whoever registers from here on reads it before it relies on anything.
 * 2. Put `retired` at the end of every log that is open: a writer that registered before has to register again.
 * 3. Read the logs, then ask for what is live: whoever committed before being retired is seen here.
 * 4. Put the final list, then the decision, create-only: point of no return.
 * 5. Delete records, then archives, then forwards; then the lists. The decision stays.
 */
export async function collectGarbage(context: StoreContext, options: CollectOptions): Promise<CollectReport> {
  const { blobs } = context;
  try {
    blobs.assertSupports({ visibility: 'strong' });
  } catch (error) {
    if (BlobsUnsupportedError.is(error)) {
      throw new CollectError('begin', 'the store must show every client every put and delete at once', {
        cause: error,
      });
    }
    throw error;
  }
  const report = progressOf(options);
  if (options.dryRun !== true) await finishLeftovers(blobs, options);
  const survey = await surveyStore(blobs, options, () => report('marking'));
  const before = await mark(blobs, survey, await readLogs(blobs, options), options);
  const candidates = findCandidates(survey, before, options.graceMs ?? 0);
  if (options.dryRun === true || candidates.length === 0) {
    const slots =
      options.dryRun === true ? 0 : await trimLogs(blobs, await readLogs(blobs, options), options);
    return describe(undefined, options.dryRun === true, survey, candidates, before.missing, slots);
  }
  const collection = randomHex(context.random, 16);
  const condemned = encodeCollectionList(candidates);
  await blobs.put(collectionKey(collection, 'condemned'), condemned, options);
  let logs: WriterLogs;
  let final: string[];
  let now: Reachable;
  try {
    await retireWriters(blobs, collection, options, () => report('retiring'));
    logs = await readLogs(blobs, options);
    const fresh = await surveyStore(blobs, options, () => report('marking'));
    now = await mark(blobs, fresh, logs, options);
    final = candidates.filter((key) => !now.keys.has(key) || isForwarded(fresh, key));
  } catch (error) {
    await putDecision(blobs, collection, 'abort');
    await finishCollection(blobs, collection, [], {});
    throwIfAborted(options.signal);
    if (HoldfastError.is(error)) throw new CollectError('mark', error.message, { cause: error });
    throw error;
  }
  const list = encodeCollectionList(final);
  await blobs.put(collectionKey(collection, 'final'), list, options);
  await decide(blobs, collection, sha256Hex(list), options);
  await finishCollection(blobs, collection, final, { onDelete: () => report('deleting') });
  const slots = await trimLogs(blobs, logs, {});
  return describe(collection, false, survey, final, now.missing, slots);
}

async function decide(
  blobs: Blobs,
  collection: string,
  digest: string,
  options: CollectOptions,
): Promise<void> {
  throwIfAborted(options.signal);
  try {
    await putDecision(blobs, collection, { go: digest });
  } catch (error) {
    if (!BlobConflictError.is(error)) throw error;
    throw new CollectError('decide', 'another collector ended this collection; run it again', {
      cause: error,
    });
  }
}

/** Unreachable records, archives and forwards, and archives whose objects have moved; in order. */
function findCandidates(survey: StoreSurvey, reachable: Reachable, graceMs: number): string[] {
  const young = (modified: number): boolean => graceMs > 0 && modified > survey.latest - graceMs;
  const candidates: string[] = [];
  for (const [key, { modified }] of survey.records) {
    if (!reachable.keys.has(key) && !young(modified)) candidates.push(key);
  }
  for (const [name, { modified }] of survey.archives) {
    const key = archiveKey(name);
    if ((!reachable.keys.has(key) || isForwarded(survey, key)) && !young(modified)) candidates.push(key);
  }
  for (const [name, { modified }] of survey.forwards) {
    const key = forwardKey(name);
    if (!reachable.keys.has(key) && !young(modified)) candidates.push(key);
  }
  return candidates;
}

/** Tells whether an archive may go because its forward leads to one that is there. */
function isForwarded(survey: StoreSurvey, key: string): boolean {
  const name = key.startsWith('archives/') ? parseArchiveKey(key) : undefined;
  if (name === undefined) return false;
  const seen = new Set([name]);
  let target = survey.forwards.get(name)?.target.name;
  if (target === undefined) return false;
  for (let next = survey.forwards.get(target)?.target.name; next !== undefined; ) {
    // A chain without an end keeps what it is about.
    if (seen.has(target)) return false;
    seen.add(target);
    target = next;
    next = survey.forwards.get(target)?.target.name;
  }
  return target !== name && survey.archives.has(target);
}

/** What must stay. The logs were read before; which sessions are fenced is asked next, what is live last. */
async function mark(
  blobs: Blobs,
  survey: StoreSurvey,
  logs: WriterLogs,
  options: CollectOptions,
): Promise<Reachable> {
  const fenced = new Set<string>();
  for (const [writer, log] of logs) {
    const register = log.find((record) => record.kind === 'register');
    if (register?.session !== undefined && (await options.isFenced?.(register.session)) === true)
      fenced.add(writer);
  }
  return await findReachable(blobs, survey, logs, await liveRefs(options), fenced, options);
}

async function liveRefs(options: CollectOptions): Promise<Set<Ref>> {
  const refs = new Set<Ref>();
  for await (const ref of options.live()) {
    throwIfAborted(options.signal);
    refs.add(parseRef(ref));
  }
  return refs;
}

function describe(
  collection: string | undefined,
  dryRun: boolean,
  survey: StoreSurvey,
  deleted: readonly string[],
  missing: readonly Ref[],
  slots: number,
): CollectReport {
  const gone = new Set(deleted);
  const count = (chosen: (key: string) => boolean): CollectCounts => {
    const archives = [...survey.archives].filter(([name]) => chosen(archiveKey(name)));
    return {
      records: [...survey.records.keys()].filter(chosen).length,
      archives: archives.length,
      forwards: [...survey.forwards.keys()].filter((name) => chosen(forwardKey(name))).length,
      bytes: archives.reduce((sum, [, { size }]) => sum + size, 0),
    };
  };
  const dead = count((key) => gone.has(key));
  return { collection, dryRun, deleted: dead, kept: count((key) => !gone.has(key)), missing, slots };
}

function progressOf(options: CollectOptions): (phase: CollectProgress['phase']) => void {
  const counts = { marking: 0, retiring: 0, deleting: 0 };
  return (phase) => {
    counts[phase] += 1;
    options.onProgress?.({ phase, objects: counts[phase] });
  };
}

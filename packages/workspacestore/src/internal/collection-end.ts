import { sha256Hex } from '@holdfast/base';
import { BlobConflictError, type Blobs } from '@holdfast/blobs';

import { CollectError, IntegrityError } from '../errors.js';
import { FormatFault } from './byte-reader.js';
import { type Decision, decodeCollectionList, decodeDecision, encodeDecision } from './collection-lists.js';
import { collectionKey } from './store-keys.js';
import { readOrUndefined } from './store-survey.js';

interface EndOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onDelete?: (() => void) | undefined;
}

/** Puts a collection's decision; the first one stays. */
export async function putDecision(blobs: Blobs, collection: string, decision: Decision): Promise<void> {
  await blobs.put(collectionKey(collection, 'decision'), encodeDecision(decision));
}

/** Deletes what a decided collection is about, then its lists. Idempotent, and safe beside another one doing the same. */
export async function finishCollection(
  blobs: Blobs,
  collection: string,
  final: readonly string[],
  options: EndOptions,
): Promise<void> {
  for (const prefix of ['snapshots/', 'archives/', 'moved/']) {
    for (const key of final) {
      if (!key.startsWith(prefix)) continue;
      await blobs.delete(key, options.signal === undefined ? {} : { signal: options.signal });
      options.onDelete?.();
    }
  }
  await blobs.delete(collectionKey(collection, 'final'));
  await blobs.delete(collectionKey(collection, 'condemned'));
}

/**
 * Ends the collections that others began: without a decision they are aborted (their collector meets that when it wants
 * to decide), aborted ones lose their lists, decided ones are carried out.
 */
export async function finishLeftovers(blobs: Blobs, options: EndOptions): Promise<void> {
  const open = new Set<string>();
  for await (const { key } of blobs.list('gc/', options)) {
    const collection = /^gc\/([0-9a-f]{32})\/(?:condemned|final)$/.exec(key)?.[1];
    if (collection !== undefined) open.add(collection);
  }
  for (const collection of open) {
    let decision = await readDecision(blobs, collection, options);
    if (decision === undefined) {
      try {
        await putDecision(blobs, collection, 'abort');
      } catch (error) {
        if (!BlobConflictError.is(error)) throw error;
      }
      decision = await readDecision(blobs, collection, options);
    }
    const final =
      decision === undefined || decision === 'abort'
        ? []
        : await readFinal(blobs, collection, decision.go, options);
    await finishCollection(blobs, collection, final, options);
  }
}

async function readDecision(
  blobs: Blobs,
  collection: string,
  options: EndOptions,
): Promise<Decision | undefined> {
  const key = collectionKey(collection, 'decision');
  const bytes = await readOrUndefined(blobs, key, options);
  return bytes === undefined ? undefined : decoded(key, () => decodeDecision(bytes, key));
}

async function readFinal(
  blobs: Blobs,
  collection: string,
  digest: string,
  options: EndOptions,
): Promise<string[]> {
  const key = collectionKey(collection, 'final');
  const bytes = await readOrUndefined(blobs, key, options);
  // Deleted last but one: everything in it is gone.
  if (bytes === undefined) return [];
  if (sha256Hex(bytes) !== digest)
    throw new CollectError('finish', `${key} is not the list that was decided on`);
  return decoded(key, () => decodeCollectionList(bytes, key));
}

function decoded<T>(key: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof FormatFault)) throw error;
    throw new IntegrityError(
      { path: key, expected: 'a list or decision', got: error.message },
      { cause: error },
    );
  }
}

import { throwIfAborted } from '@holdfast/base';
import { BlobConflictError } from '@holdfast/blobs';

import { readFrames } from './archive-frames.js';
import type { BuiltFrame } from './archive-writer.js';
import { byteText } from './entry-path.js';
import { ObjectTable, type OpenArchive } from './object-table.js';
import { type ArchiveRef, encodeForward } from './record.js';
import type { RootState } from './root-state.js';
import type { StoreContext } from './store-context.js';
import { forwardKey } from './store-keys.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Archives of one tier that become one. */
const groupSize = 8;

/** Upper bounds of the tiers, in bytes; what is larger than the last is sealed. */
const tiers = [192 * 1024, 1.5 * 2 ** 20, 8 * 2 ** 20];

/** Unsealed archives from which a snapshot itself merges one group. */
export const tooManyUnsealed = 64;

/** Tells how many archives of a closure could still be merged. */
export function countUnsealed(closure: ObjectTable): number {
  return closure.archives.filter(({ ref }) => tierOf(ref) !== undefined).length;
}

/**
 * Makes eight archives of one tier into one, if the closure of a root has so many. Returns what the root's state is then,
 * or `undefined` when there is nothing to merge, or not now.
 *
 * 1. The new archive is durable. 2. The slot that holds it is won. 3. A forward for each of the eight is durable: point
 * of no return for each. 4. The slot is released; later records name the new archive.
 */
export async function mergeGroup(
  context: StoreContext,
  state: RootState,
  options: Options,
): Promise<RootState | undefined> {
  const { committed } = state;
  const group = committed === undefined ? undefined : findGroup(committed.closure);
  if (committed === undefined || group === undefined) return undefined;
  const names = group.map(({ ref }) => ref.name);
  const { data, trees } = await joinFrames(context, group, options);
  const meta = await context.log.nextMeta(options);
  const archive = await context.archives.put(meta, data, trees, options);
  const proof = await context.log.prove([...names, archive.name], options);
  if (proof.absent.size > 0) return undefined;
  const won = await context.log.put({ kind: 'merge', archive, replaces: names }, proof, options);
  if (won === undefined) return undefined;
  for (const name of names) {
    throwIfAborted(options.signal);
    try {
      await context.blobs.put(forwardKey(name), encodeForward(archive), options);
    } catch (error) {
      // Somebody else has moved the same archive: theirs has all of it as well.
      if (!BlobConflictError.is(error)) throw error;
    }
  }
  context.log.release(won.hold);
  const opened = await context.archives.open(archive, options);
  if (opened === undefined) return undefined;
  const closure = new ObjectTable();
  const gone = new Set(names);
  // The new archive takes the place of the oldest one: records list archives oldest first.
  for (const old of committed.closure.archives) closure.add(gone.has(old.ref.name) ? opened : old);
  return { ...state, committed: { ...committed, closure } };
}

function tierOf({ size }: ArchiveRef): number | undefined {
  const tier = tiers.findIndex((bound) => size < bound);
  return tier === -1 ? undefined : tier;
}

function findGroup(closure: ObjectTable): OpenArchive[] | undefined {
  for (let tier = 0; tier < tiers.length; tier += 1) {
    const members = closure.archives.filter(({ ref }) => tierOf(ref) === tier);
    if (members.length >= groupSize) return members.slice(0, groupSize);
  }
  return undefined;
}

/** All frames of a group as they are; one whose objects have all been seen is dropped. */
async function joinFrames(
  context: StoreContext,
  group: readonly OpenArchive[],
  options: Options,
): Promise<{ data: BuiltFrame[]; trees: BuiltFrame[] }> {
  const joined = { data: [] as BuiltFrame[], trees: [] as BuiltFrame[] };
  const seen = new Set<string>();
  for (const archive of group) {
    const frames = await readFrames(context.blobs, archive, options.signal);
    for (const member of ['data', 'trees'] as const) {
      for (const frame of frames[member]) {
        const objects = frame.objects.filter(({ kind, key }) => {
          const name = kind + byteText(key);
          return !seen.has(name) && seen.add(name);
        });
        if (objects.length > 0) joined[member].push({ ...frame, objects });
      }
    }
  }
  return joined;
}

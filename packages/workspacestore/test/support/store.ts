import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { WorkspaceStore, type WorkspaceStoreOptions } from '@holdfast/workspacestore';

/** Everything in a blob store, by key. */
export async function contents(blobs: Blobs): Promise<Map<string, Uint8Array>> {
  const all = new Map<string, Uint8Array>();
  for await (const { key } of blobs.list()) all.set(key, await blobs.getBytes(key));
  return all;
}

/** A fresh memory store holding the given objects. */
export async function blobsOf(all: ReadonlyMap<string, Uint8Array>): Promise<Blobs> {
  const blobs = memoryBlobs();
  for (const [key, bytes] of all) await blobs.put(key, bytes);
  return blobs;
}

type Use<T> = (store: WorkspaceStore) => Promise<T>;

/** Opens a store for the length of one function; options may be left out. */
export async function withStore<T>(
  blobs: Blobs,
  ...rest: readonly [options: WorkspaceStoreOptions, use: Use<T>] | readonly [use: Use<T>]
): Promise<T> {
  const [options, use] = rest.length === 1 ? [{}, rest[0]] : rest;
  const store = await WorkspaceStore.open(blobs, options);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

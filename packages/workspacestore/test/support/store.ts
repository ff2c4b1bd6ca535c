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

/** Opens a store for the length of one function. */
export async function withStore<T>(
  blobs: Blobs,
  options: WorkspaceStoreOptions,
  use: (store: WorkspaceStore) => Promise<T>,
): Promise<T> {
  const store = await WorkspaceStore.open(blobs, options);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

import type { Blobs } from '@holdfast/blobs';

import { bodyPrefix } from './prepare-record.js';

/**
 * Deletes the large bodies of a session whose ledger is gone. `ours` is asked before each: whoever took the lease over has
 * a session of this id, and bodies that have its names.
 */
export async function deleteBodies(
  blobs: Blobs,
  sessionId: string,
  ours: () => Promise<void>,
): Promise<void> {
  const keys: string[] = [];
  for await (const { key } of blobs.list(bodyPrefix(sessionId))) keys.push(key);
  for (const key of keys) {
    await ours();
    await blobs.delete(key);
  }
}

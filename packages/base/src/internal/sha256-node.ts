import { createHash, hash } from 'node:crypto';

import type { Sha256 } from '../sha256.js';

export function createHasher(): Sha256 {
  const hasher = createHash('sha256');
  return {
    update: (bytes) => {
      hasher.update(bytes);
    },
    digest: () => plain(hasher.digest()),
  };
}

export function digest(bytes: Uint8Array): Uint8Array {
  return plain(hash('sha256', bytes, 'buffer'));
}

/** Without the methods of a `Buffer`; digests have memory of their own. */
function plain(digest: Buffer): Uint8Array {
  return new Uint8Array(digest.buffer, digest.byteOffset, digest.byteLength);
}

import { sha256 } from '@noble/hashes/sha2.js';

import type { Sha256 } from '../sha256.js';

export function createHasher(): Sha256 {
  const hash = sha256.create();
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    digest: () => hash.digest(),
  };
}

export function digest(bytes: Uint8Array): Uint8Array {
  return sha256(bytes);
}

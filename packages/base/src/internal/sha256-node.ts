import { createHash } from 'node:crypto';

import type { Sha256 } from '../sha256.js';

export function createHasher(): Sha256 {
  const hash = createHash('sha256');
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    digest: () => new Uint8Array(hash.digest()),
  };
}

export function digest(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}

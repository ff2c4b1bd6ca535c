import * as crypto from 'node:crypto';

import type { Sha256 } from '../sha256.js';

export function createHasher(): Sha256 {
  const hash = crypto.createHash('sha256');
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    digest: () => plain(hash.digest()),
  };
}

export function digest(bytes: Uint8Array): Uint8Array {
  // One call instead of an object with three, where the runtime has it.
  return plain(oneShot === undefined ? crypto.createHash('sha256').update(bytes).digest() : oneShot(bytes));
}

const oneShot = findOneShot();

function findOneShot(): ((bytes: Uint8Array) => Buffer) | undefined {
  const { hash } = crypto as { readonly hash?: typeof crypto.hash };
  return hash && ((bytes) => hash('sha256', bytes, 'buffer'));
}

/** Without the methods of a `Buffer`; digests have memory of their own. */
function plain(digest: Buffer): Uint8Array {
  return new Uint8Array(digest.buffer, digest.byteOffset, digest.byteLength);
}

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { type Leaser, memoryLeaser } from '@holdfast/lease';

import { memorySessionLedgers } from '../memory-session-ledgers.js';
import type { SessionLedgers } from '../session-ledgers.js';
import type { SessionStoreParts } from '../session-store.js';

/** The three parts of a session store, in memory except for what is given. */
export function memorySessionParts(
  given: Partial<SessionStoreParts> = {},
): SessionStoreParts & { readonly ledgers: SessionLedgers; readonly leaser: Leaser; readonly blobs: Blobs } {
  return {
    ...given,
    ledgers: given.ledgers ?? memorySessionLedgers(),
    leaser: given.leaser ?? memoryLeaser(),
    blobs: given.blobs ?? memoryBlobs(),
  };
}

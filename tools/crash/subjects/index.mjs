import { blobPut } from './blob-put.mjs';
import { lease } from './lease.mjs';
import { ledger } from './ledger.mjs';
import { reconciling, recovering, swapping } from './restore.mjs';
import { opening } from './session.mjs';
import { capture, collecting } from './workspace.mjs';

/**
 * Everything whose crashes are explored as a whole. What a package explores by itself, closer to its parts, is listed in
 * `docs/reliability.md`.
 * @type {readonly import('../subject.mjs').Subject[]}
 */
export const subjects = [
  blobPut,
  ledger,
  lease,
  capture,
  reconciling,
  swapping,
  recovering,
  collecting,
  opening,
];

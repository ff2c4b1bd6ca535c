import { PersistenceOverlapError } from '../errors.js';
import { canonicalRoot, isWithin } from './canonical-root.js';

/**
 * Looks whether something that is written to lies in a managed directory.
 * @throws PersistenceOverlapError for the first one.
 */
export function refuseOverlap(region: string, persistencePaths: Iterable<string>): void {
  for (const path of persistencePaths) {
    if (isWithin(region, canonicalRoot(path).path)) throw new PersistenceOverlapError(path, region);
  }
}

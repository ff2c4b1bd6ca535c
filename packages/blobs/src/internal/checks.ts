import { brokenNameRule, textOf } from '@holdfast/base';

import type { BlobEntry, BlobInfo, ByteRange } from '../driver.js';
import { BlobsBackendError, type BlobsOperation } from '../errors.js';

/** Checks a caller's range and copies it. @throws RangeError for anything but whole numbers 0 ≤ start ≤ end. */
export function checkRange(range: ByteRange | undefined): ByteRange | undefined {
  if (range === undefined) return undefined;
  const { start, end } = range;
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start) {
    throw new RangeError(
      `get: a range needs whole numbers 0 <= start <= end, not ${textOf(start)} to ${textOf(end)}`,
    );
  }
  return Object.freeze({ start, end });
}

/** Copies what a driver said about an object; a driver that talks nonsense is a backend failure. */
export function checkInfo(operation: BlobsOperation, key: string, info: BlobInfo): BlobInfo {
  const { size, modified } = info;
  if (!Number.isSafeInteger(size) || size < 0 || !Number.isFinite(modified)) {
    const cause = new TypeError(`the driver reported size ${textOf(size)} and time ${textOf(modified)}`);
    throw new BlobsBackendError(operation, key, { cause });
  }
  return Object.freeze({ size, modified });
}

/**
 * Checks one entry of a driver's list. Objects whose keys break the grammar were put there by somebody else: they are
 * left out. An entry out of order would silently break every consumer that merges lists, so it is a failure.
 */
export function checkEntry(
  prefix: string,
  previous: string | undefined,
  entry: BlobEntry,
): BlobEntry | undefined {
  const { key } = entry;
  if (brokenNameRule(key) !== undefined) return undefined;
  if (!key.startsWith(prefix)) {
    throw new BlobsBackendError('list', prefix, {
      cause: new TypeError(`the driver listed ${JSON.stringify(key)}`),
    });
  }
  if (previous !== undefined && key <= previous) {
    const order = `${JSON.stringify(key)} after ${JSON.stringify(previous)}`;
    throw new BlobsBackendError('list', prefix, { cause: new TypeError(`the driver listed ${order}`) });
  }
  const { size, modified } = checkInfo('list', key, entry);
  return Object.freeze({ key, size, modified });
}

import { Blobs } from '../blobs.js';
import type { BlobsDriver } from '../driver.js';
import { type BorrowOptions, blobsAsDriver } from './blobs-as-driver.js';

/** Wraps a driver in another. A layer passes on what it does not change, and closes what it wraps when it is closed. */
export type BlobsLayer = (driver: BlobsDriver) => BlobsDriver;

/**
 * Opens a view of a store through layers. The first layer is next to the store, the last is what callers meet: put
 * retries before a cache, so that the cache is filled by reads that were retried.
 *
 * Closing the view closes the store too, unless `keepOpen` says that others use it.
 */
export function layerBlobs(blobs: Blobs, layers: readonly BlobsLayer[], options: BorrowOptions = {}): Blobs {
  let driver = blobsAsDriver(blobs, options);
  for (const layer of layers) driver = layer(driver);
  return new Blobs(driver);
}

import { type FsBlobsOptions, openFsBlobs } from '../../fs/open-fs-blobs.js';
import type { BlobsLayer } from '../layer.js';
import { type CacheOptions, cacheLayer } from './cache-layer.js';

export interface DiskCacheOptions extends Omit<CacheOptions, 'cache'> {
  /** Options of the store below the directory. Nothing is synced unless they say so: a cache may be lost. */
  readonly store?: FsBlobsOptions | undefined;
}

/** Opens a read-through cache in a directory of its own. */
export async function diskCacheLayer(directory: string, options: DiskCacheOptions): Promise<BlobsLayer> {
  const { store, ...rest } = options;
  return cacheLayer({ ...rest, cache: await openFsBlobs(directory, { durable: false, ...store }) });
}

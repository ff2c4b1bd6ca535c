import type { Blobs } from '../blobs.js';
import type { BlobsDriver } from '../driver.js';

export interface BorrowOptions {
  /** `true`: closing the driver leaves the store open. Default `false`. */
  readonly keepOpen?: boolean | undefined;
}

/** Makes an open store usable as the driver under a layer. */
export function blobsAsDriver(blobs: Blobs, options: BorrowOptions = {}): BlobsDriver {
  return {
    contract: 'blobs/1',
    supports: blobs.supports,
    storagePaths: () => blobs.storagePaths(),
    put: async (key, source, callOptions) => await blobs.put(key, source, callOptions),
    get: async (key, callOptions) => {
      const reader = await blobs.get(key, callOptions);
      return {
        size: reader.size,
        chunks: reader,
        close: async () => {
          await reader.close();
        },
      };
    },
    stat: async (key, callOptions) => await blobs.stat(key, callOptions),
    list: (prefix, callOptions) => blobs.list(prefix, callOptions),
    delete: async (key, callOptions) => {
      await blobs.delete(key, callOptions);
    },
    close: async () => {
      if (options.keepOpen !== true) await blobs.close();
    },
  };
}

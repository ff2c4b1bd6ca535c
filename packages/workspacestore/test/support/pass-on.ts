import type { BlobsLayer } from '@holdfast/blobs/layers';

type Driver = Parameters<BlobsLayer>[0];

/** A driver that does what another one does: the ground on which a test changes one call. */
export const passOn = (driver: Driver): Driver => ({
  contract: 'blobs/1',
  supports: driver.supports,
  storagePaths: () => driver.storagePaths(),
  put: (...call) => driver.put(...call),
  get: (...call) => driver.get(...call),
  stat: (...call) => driver.stat(...call),
  list: (...call) => driver.list(...call),
  delete: (...call) => driver.delete(...call),
  close: () => driver.close(),
});

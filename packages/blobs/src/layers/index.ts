export { type BorrowOptions, blobsAsDriver } from './blobs-as-driver.js';
export { type CacheOptions, cacheLayer } from './cache/cache-layer.js';
export { type DiskCacheOptions, diskCacheLayer } from './cache/disk-cache.js';
export type { CacheEvent } from './cache/segment-cache.js';
export { type EncryptionOptions, encryptionLayer } from './encryption/encryption-layer.js';
export {
  type Fault,
  type FaultKind,
  type FaultOperation,
  FaultPlan,
  type FiredFault,
  faultKinds,
} from './fault-plan.js';
export { type FaultOptions, faultLayer } from './faults.js';
export { type BlobsLayer, layerBlobs } from './layer.js';
export { type BlobsMetric, type MetricsOptions, metricsLayer } from './metrics.js';
export { prefixLayer } from './prefix.js';
export { type RetryEvent, type RetryOptions, retryLayer } from './retry.js';

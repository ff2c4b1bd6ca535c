export {
  Blobs,
  type BlobsGetOptions,
  type BlobsNeeds,
  type BlobsOptions,
  type PutResult,
} from './blobs.js';
export type {
  BlobContent,
  BlobEntry,
  BlobInfo,
  BlobSource,
  BlobsDriver,
  BlobsSupports,
  ByteRange,
  DriverGetOptions,
  DriverOptions,
  ReopenableSource,
} from './driver.js';
export {
  type BackendErrorOptions,
  BlobConflictError,
  BlobIntegrityError,
  type BlobIntegrityErrorKind,
  BlobKeyError,
  type BlobKeyErrorKind,
  BlobNotFoundError,
  BlobRangeError,
  BlobSourceError,
  type BlobSourceErrorKind,
  BlobsAmbiguousError,
  BlobsBackendError,
  BlobsClosedError,
  type BlobsError,
  type BlobsErrorCode,
  type BlobsOperation,
  BlobsUnsupportedError,
  isBlobsError,
} from './errors.js';
export { MemoryBlobStorage, MemoryBlobsDriver, type MemoryBlobsOptions, memoryBlobs } from './memory.js';
export type { BlobReader } from './reader.js';

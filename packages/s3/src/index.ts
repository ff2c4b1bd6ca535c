export {
  isS3Error,
  S3BucketUnsuitableError,
  type S3BucketUnsuitableErrorKind,
  type S3Error,
  type S3ErrorCode,
  type S3Operation,
  S3RequestError,
  type S3RequestErrorKind,
  type S3RequestFacts,
} from './errors.js';
export { openS3Blobs } from './open-s3-blobs.js';
export type { S3BlobsOptions, S3RequestEvent, ServerSideEncryption } from './options.js';

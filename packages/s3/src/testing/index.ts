export {
  S3Double,
  type S3DoubleOptions,
  type S3DoubleRequest,
  type S3Fault,
  type S3Lie,
} from './s3-double.js';

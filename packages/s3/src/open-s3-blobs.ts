import { systemClock, systemRandom, throwIfAborted } from '@holdfast/base';
import { Blobs, BlobsBackendError } from '@holdfast/blobs';

import { S3BucketUnsuitableError, S3RequestError } from './errors.js';
import { encryptionParameters } from './internal/encryption-headers.js';
import { keyPrefix } from './internal/keys.js';
import { Objects } from './internal/objects.js';
import { publicFailure, Wire } from './internal/wire.js';
import type { S3BlobsOptions } from './options.js';
import { probeBucket } from './probe.js';
import { S3BlobsDriver } from './s3-blobs-driver.js';

/**
 * Opens the blobs in a bucket that exists. Any number of processes and hosts may have the same bucket open.
 *
 * Puts are one request each, two when the key is taken; reads, lists of up to a thousand keys and deletes one. Nothing is
 * retried: put `retryLayer` over it.
 *
 * @throws S3BucketUnsuitableError when the bucket does not keep its word.
 * @throws BlobsBackendError when it cannot be reached; the cause is an `S3RequestError`.
 */
export async function openS3Blobs(options: S3BlobsOptions): Promise<Blobs> {
  const { bucket, signal, clock = systemClock, random = systemRandom } = options;
  const { connectTimeoutMilliseconds = 5000, idleTimeoutMilliseconds = 30_000 } = options;
  throwIfAborted(signal);
  if (typeof bucket !== 'string' || bucket === '') throw new TypeError('openS3Blobs: bucket must be a name');
  const prefix = keyPrefix(options.prefix);
  const encryption = encryptionParameters(options.serverSideEncryption);
  const wire = new Wire({
    client: options.client ?? {},
    clock,
    connectTimeoutMilliseconds,
    idleTimeoutMilliseconds,
    onRequest: options.onRequest,
  });
  const objects = new Objects({ wire, bucket, encryption, clock, idleTimeoutMilliseconds });
  try {
    if (options.probe !== false) {
      const encrypted = options.serverSideEncryption !== undefined;
      await probeBucket({ objects, bucket, prefix, encrypted, random, now: clock.now(), signal });
    }
    return new Blobs(new S3BlobsDriver({ objects, wire, bucket, prefix, clock, random }));
  } catch (error) {
    wire.close();
    const failure = publicFailure(error);
    if (signal?.aborted === true && failure === signal.reason) throw failure;
    if (S3BucketUnsuitableError.is(failure)) throw failure;
    const retryable = S3RequestError.is(failure) && failure.retryable === true;
    throw new BlobsBackendError('open', undefined, { cause: failure, retryable });
  }
}

import type { S3ClientConfig } from '@aws-sdk/client-s3';
import type { Clock, Random } from '@holdfast/base';

import type { S3Operation } from './errors.js';

/** How the service is asked to encrypt objects at rest. For encryption that the service cannot undo see `encryptionLayer`. */
export type ServerSideEncryption =
  /** With keys of the service (SSE-S3). */
  | { readonly keys: 'service' }
  /** With a key of the key management service (SSE-KMS); the bucket's default key when `keyId` is absent. */
  | { readonly keys: 'kms'; readonly keyId?: string | undefined }
  /** With these 32 bytes, sent along with every request (SSE-C). Needs TLS. */
  | { readonly keys: 'customer'; readonly key: Uint8Array };

/** One request, when it has ended. Holds no names, credentials or addresses. */
export interface S3RequestEvent {
  readonly operation: S3Operation;
  /** Status of the answer; absent when there was none. */
  readonly status: number | undefined;
  /** Milliseconds until the answer began. */
  readonly durationMilliseconds: number;
}

export interface S3BlobsOptions {
  readonly bucket: string;
  /**
   * Put before every key, with a `/` between. Segments of letters, digits, `_`, `.` and `-` that start with a letter or
   * digit, joined by `/`; at most 500 bytes. Stores with different prefixes share nothing unless one prefix is a
   * directory of the other. Default: none.
   */
  readonly prefix?: string | undefined;
  /**
   * Configuration of the client: region, endpoint, credentials, `forcePathStyle`. The client is made, and destroyed, by
   * the store. Its retries and checksums are set by the store and cannot be chosen: see decision 0120.
   */
  readonly client?: S3ClientConfig | undefined;
  readonly serverSideEncryption?: ServerSideEncryption | undefined;
  /**
   * Whether opening tries out that the bucket honours conditions, ranges and strong listing (about ten small requests).
   * Default `true`. Turn it off only for a bucket that was tried out before.
   */
  readonly probe?: boolean | undefined;
  /** Longest time for a connection to be made, in milliseconds. Default 5,000. Not for an own `requestHandler`. */
  readonly connectTimeoutMilliseconds?: number | undefined;
  /**
   * Longest time in which nothing moves in a request, in milliseconds. Default 30,000. A put is given more, as if its
   * bytes left at 50 kB a second: what the system has taken over leaves unseen.
   */
  readonly idleTimeoutMilliseconds?: number | undefined;
  readonly onRequest?: ((event: S3RequestEvent) => void) | undefined;
  /** Ends the opening early; it rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

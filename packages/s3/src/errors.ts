import { HoldfastError, isHoldfastError, quote } from '@holdfast/base';

/** The requests that the driver sends. One call of `Blobs` is one request unless its documentation says more. */
export type S3Operation = 'PutObject' | 'GetObject' | 'HeadObject' | 'ListObjectsV2' | 'DeleteObject';

/**
 * Where a request failed: it was never sent, could not connect, lost its connection, ran into a timeout, was answered
 * with an error status, or was answered with something that makes no sense.
 */
export type S3RequestErrorKind = 'unsent' | 'unreachable' | 'broken' | 'timeout' | 'refused' | 'nonsense';

export interface S3RequestFacts {
  readonly kind: S3RequestErrorKind;
  /** Status of the answer; absent when there was none. */
  readonly status?: number | undefined;
  /** The service's error code (`AccessDenied`) or the system's (`ECONNRESET`). */
  readonly reason?: string | undefined;
  /** What the service calls this request in its own logs. */
  readonly requestId?: string | undefined;
}

/**
 * A request to the object store failed. It is the cause of a `BlobsBackendError` or `BlobsAmbiguousError`.
 *
 * Holds only what is listed here, never the client's own error: that one carries headers, signatures and parts of the
 * request.
 */
export class S3RequestError extends HoldfastError {
  static override readonly code = 'S3_REQUEST';
  declare readonly code: 'S3_REQUEST';
  declare readonly operation: S3Operation;
  declare readonly kind: S3RequestErrorKind;
  declare readonly status: number | undefined;
  declare readonly reason: string | undefined;
  declare readonly requestId: string | undefined;

  constructor(operation: S3Operation, facts: S3RequestFacts, retryable: boolean) {
    const { kind, status, reason, requestId } = facts;
    const answer = [status, reason].filter((part) => part !== undefined).join(' ');
    super(
      `${operation} ${requestProblem[kind]}${answer === '' ? '' : ` (${answer})`}: ${adviceFor(facts, retryable)}`,
      { retryable, fields: { operation, kind, status, reason, requestId } },
    );
  }
}

const requestProblem: Readonly<Record<S3RequestErrorKind, string>> = {
  unsent: 'was not sent',
  unreachable: 'found no server',
  broken: 'lost its connection',
  timeout: 'got no answer in time',
  refused: 'was refused',
  nonsense: 'got an answer that is not S3',
};

function adviceFor({ kind, status, reason }: S3RequestFacts, retryable: boolean): string {
  if (status === 301 || status === 307) return 'check region and endpoint of the bucket';
  if (status === 401 || status === 403 || kind === 'unsent')
    return 'check credentials, and what they are allowed to do';
  if (reason === 'NoSuchBucket') return 'create the bucket, or check its name and the endpoint';
  if (kind === 'nonsense') return 'check that the endpoint is an S3 server and no proxy answers for it';
  return retryable ? 'try again' : 'see status and reason';
}

/** What a bucket does not do. */
export type S3BucketUnsuitableErrorKind =
  | 'ignores-conditions'
  | 'ignores-ranges'
  | 'stale-reads'
  | 'stale-listing'
  | 'unsorted-listing'
  | 'ignores-encryption';

/**
 * The bucket accepts a request and does not do what it asks for. Objects in it could be overwritten, lost or mixed up, so
 * it is not opened.
 */
export class S3BucketUnsuitableError extends HoldfastError {
  static override readonly code = 'S3_BUCKET_UNSUITABLE';
  declare readonly code: 'S3_BUCKET_UNSUITABLE';
  declare readonly bucket: string;
  declare readonly kind: S3BucketUnsuitableErrorKind;
  declare readonly detail: string;

  constructor(bucket: string, kind: S3BucketUnsuitableErrorKind, detail: string) {
    super(
      `bucket ${quote(bucket)} cannot hold blobs: ${bucketProblem[kind]} (${detail}); use another service`,
      {
        effect: 'none',
        retryable: false,
        fields: { bucket, kind, detail },
      },
    );
  }
}

const bucketProblem: Readonly<Record<S3BucketUnsuitableErrorKind, string>> = {
  'ignores-conditions': 'it ignores If-None-Match, so two writers can overwrite each other',
  'ignores-ranges': 'it ignores ranges, so parts of objects cannot be read',
  'stale-reads': 'a read does not see what was just written',
  'stale-listing': 'a listing does not see what was just written or deleted',
  'unsorted-listing': 'its listings are not sorted by key',
  'ignores-encryption': 'it does not say that it encrypted what it was asked to encrypt',
};

/** Every error of this package; `switch (error.code)` is exhaustive. */
export type S3Error = S3RequestError | S3BucketUnsuitableError;

export type S3ErrorCode = S3Error['code'];

const codes: ReadonlySet<string> = new Set([S3RequestError.code, S3BucketUnsuitableError.code]);

/** Tells whether `value` is one of this package's errors. */
export function isS3Error(value: unknown): value is S3Error {
  return isHoldfastError(value) && codes.has(value.code);
}

import { type Effect, HoldfastError, isHoldfastError, quote } from '@holdfast/base';

/** The calls that a backend failure can come from. */
export type BlobsOperation = 'open' | 'put' | 'get' | 'read' | 'stat' | 'list' | 'delete' | 'close';

/** There is no object with this key. */
export class BlobNotFoundError extends HoldfastError {
  static override readonly code = 'BLOBS_NOT_FOUND';
  declare readonly code: 'BLOBS_NOT_FOUND';
  declare readonly key: string;

  constructor(key: string, options: { readonly cause?: unknown } = {}) {
    super(`blob ${quote(key)} does not exist`, { cause: options.cause, fields: { key } });
  }
}

/** The key is taken by different content, which was kept. */
export class BlobConflictError extends HoldfastError {
  static override readonly code = 'BLOBS_CONFLICT';
  declare readonly code: 'BLOBS_CONFLICT';
  declare readonly key: string;

  constructor(key: string, options: { readonly cause?: unknown } = {}) {
    super(`put of ${quote(key)} refused: the key holds different content; objects are never replaced`, {
      cause: options.cause,
      fields: { key },
      effect: 'none',
    });
  }
}

/** A range ends beyond the end of the object. */
export class BlobRangeError extends HoldfastError {
  static override readonly code = 'BLOBS_RANGE';
  declare readonly code: 'BLOBS_RANGE';
  declare readonly key: string;
  declare readonly start: number;
  declare readonly end: number;
  /** Size of the object in bytes. */
  declare readonly size: number;

  constructor(key: string, range: { readonly start: number; readonly end: number }, size: number) {
    super(`range ${range.start} to ${range.end} of blob ${quote(key)} passes its end: it has ${size} bytes`, {
      fields: { key, start: range.start, end: range.end, size },
    });
  }
}

/** What is wrong with a source: it threw, ended early, went on too long, or yielded something that is not bytes. */
export type BlobSourceErrorKind = 'failed' | 'too-short' | 'too-long' | 'not-bytes';

/** The source of a put failed or lied about its size. Nothing became visible. */
export class BlobSourceError extends HoldfastError {
  static override readonly code = 'BLOBS_SOURCE';
  declare readonly code: 'BLOBS_SOURCE';
  declare readonly key: string;
  declare readonly kind: BlobSourceErrorKind;
  /** Bytes the source announced. */
  declare readonly expected: number;
  /** Bytes it had yielded when it was found out. */
  declare readonly received: number;

  constructor(
    key: string,
    kind: BlobSourceErrorKind,
    expected: number,
    received: number,
    options: { readonly cause?: unknown } = {},
  ) {
    super(
      `put of ${quote(key)} stopped: ${sourceProblem[kind]} (announced ${expected} bytes, yielded ${received})`,
      {
        cause: options.cause,
        fields: { key, kind, expected, received },
        effect: 'none',
      },
    );
  }
}

const sourceProblem: Readonly<Record<BlobSourceErrorKind, string>> = {
  failed: 'its source failed',
  'too-short': 'its source ended early',
  'too-long': 'its source goes on beyond its announced size',
  'not-bytes': 'its source yielded something that is not a Uint8Array',
};

/** How stored bytes contradict what is known about them. */
export type BlobIntegrityErrorKind = 'truncated' | 'oversized' | 'changed' | 'foreign';

/** What the backend holds contradicts its own name or size. Never reported as "not found". */
export class BlobIntegrityError extends HoldfastError {
  static override readonly code = 'BLOBS_INTEGRITY';
  declare readonly code: 'BLOBS_INTEGRITY';
  declare readonly key: string;
  declare readonly kind: BlobIntegrityErrorKind;
  declare readonly detail: string;

  constructor(
    key: string,
    kind: BlobIntegrityErrorKind,
    detail: string,
    options: { readonly cause?: unknown; readonly effect?: Effect | undefined } = {},
  ) {
    super(`stored blob ${quote(key)} is damaged (${kind}): ${detail}`, {
      cause: options.cause,
      effect: options.effect,
      fields: { key, kind, detail },
    });
  }
}

/** A put or delete failed after it may have taken effect. Repeating it is safe and settles the question. */
export class BlobsAmbiguousError extends HoldfastError {
  static override readonly code = 'BLOBS_AMBIGUOUS';
  declare readonly code: 'BLOBS_AMBIGUOUS';
  declare readonly key: string;
  declare readonly operation: 'put' | 'delete';

  constructor(operation: 'put' | 'delete', key: string, options: BackendErrorOptions = {}) {
    super(
      `${operation} of ${quote(key)} failed after it may have taken effect: repeat it, or look with stat`,
      {
        cause: options.cause,
        effect: 'unknown',
        retryable: options.retryable ?? true,
        fields: { key, operation },
      },
    );
  }
}

/** The backend does not offer what the caller needs. */
export class BlobsUnsupportedError extends HoldfastError {
  static override readonly code = 'BLOBS_UNSUPPORTED';
  declare readonly code: 'BLOBS_UNSUPPORTED';
  /** What was needed, for example `visibility: strong`. */
  declare readonly capability: string;
  /** What there is instead. */
  declare readonly declared: string;

  constructor(capability: string, declared: string) {
    super(`this blob store does not support ${quote(capability)}: it declares ${quote(declared)}`, {
      fields: { capability, declared },
      effect: 'none',
    });
  }
}

/** The store, or the reader, was closed before or during the call. */
export class BlobsClosedError extends HoldfastError {
  static override readonly code = 'BLOBS_CLOSED';
  declare readonly code: 'BLOBS_CLOSED';
  declare readonly subject: 'store' | 'reader';

  constructor(subject: 'store' | 'reader' = 'store') {
    const what =
      subject === 'store' ? 'this blob store is closed: open it' : 'this blob reader is closed: get the blob';
    super(`${what} again`, { effect: 'none', fields: { subject } });
  }
}

export interface BackendErrorOptions {
  readonly cause?: unknown;
  /** Whether the same call may succeed later. */
  readonly retryable?: boolean | undefined;
}

/** The backend failed. For put and delete it also states that nothing took effect. */
export class BlobsBackendError extends HoldfastError {
  static override readonly code = 'BLOBS_BACKEND';
  declare readonly code: 'BLOBS_BACKEND';
  declare readonly operation: BlobsOperation;
  /** The key, or the prefix of a list; absent where there is none. */
  declare readonly key: string | undefined;

  constructor(operation: BlobsOperation, key: string | undefined, options: BackendErrorOptions = {}) {
    const subject = key === undefined || key === '' ? operation : `${operation} of ${quote(key)}`;
    super(`${subject} failed in the storage backend: see its cause`, {
      cause: options.cause,
      retryable: options.retryable ?? false,
      effect: operation === 'put' || operation === 'delete' ? 'none' : undefined,
      fields: key === undefined ? { operation } : { operation, key },
    });
  }
}

/** What is wrong with the key of an encrypted object: nobody gave it, or what was given under its id is another key. */
export type BlobKeyErrorKind = 'unknown' | 'wrong';

/** An encrypted object cannot be read, or compared, with the keys that were given. Nothing is known to be damaged. */
export class BlobKeyError extends HoldfastError {
  static override readonly code = 'BLOBS_KEY';
  declare readonly code: 'BLOBS_KEY';
  declare readonly key: string;
  declare readonly kind: BlobKeyErrorKind;
  /** Id of the encryption key that the object names. */
  declare readonly keyId: string;

  constructor(
    key: string,
    kind: BlobKeyErrorKind,
    keyId: string,
    options: { readonly cause?: unknown } = {},
  ) {
    const problem =
      kind === 'unknown' ? 'which was not given' : 'and what was given under this id is another key';
    super(
      `blob ${quote(key)} is encrypted with key ${quote(keyId)}, ${problem}: pass the right key to encryptionLayer`,
      { cause: options.cause, fields: { key, kind, keyId } },
    );
  }
}

/** Every error of this package; `switch (error.code)` is exhaustive. */
export type BlobsError =
  | BlobNotFoundError
  | BlobConflictError
  | BlobRangeError
  | BlobSourceError
  | BlobIntegrityError
  | BlobsAmbiguousError
  | BlobsUnsupportedError
  | BlobsClosedError
  | BlobKeyError
  | BlobsBackendError;

export type BlobsErrorCode = BlobsError['code'];

const codes: ReadonlySet<string> = new Set(
  [
    BlobNotFoundError,
    BlobConflictError,
    BlobRangeError,
    BlobSourceError,
    BlobIntegrityError,
    BlobsAmbiguousError,
    BlobsUnsupportedError,
    BlobsClosedError,
    BlobKeyError,
    BlobsBackendError,
  ].map((Class) => Class.code),
);

/** Tells whether `value` is one of this package's errors. */
export function isBlobsError(value: unknown): value is BlobsError {
  return isHoldfastError(value) && codes.has(value.code);
}

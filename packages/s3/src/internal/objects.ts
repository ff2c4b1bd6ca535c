import type { Readable } from 'node:stream';

import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { type Clock, onAbort, throwIfAborted } from '@holdfast/base';
import type { BlobContent, BlobEntry, BlobInfo, ByteRange } from '@holdfast/blobs';

import { S3BucketUnsuitableError, S3RequestError } from '../errors.js';
import { discard, download, drain } from './download.js';
import type { EncryptionParameters } from './encryption-headers.js';
import { digestName } from './keys.js';
import type { Upload } from './upload.js';
import { type Exchange, LocalFailure, RequestFailed, type S3Command, type Wire } from './wire.js';

/** How often an object is looked for that has no bytes in one answer and is missing in the next. */
const lookAttempts = 3;

export interface ObjectsOptions {
  readonly wire: Wire;
  readonly bucket: string;
  readonly encryption: EncryptionParameters;
  readonly clock: Clock;
  readonly idleTimeoutMilliseconds: number;
}

/** What one request says about an object. */
export interface StoredObject extends BlobInfo {
  /** Hex SHA-256 that was stored with it; absent on objects that others put. */
  readonly sha256: string | undefined;
}

export type CreateOutcome =
  | { readonly kind: 'created'; readonly encrypted: boolean }
  /** The name is taken. */
  | { readonly kind: 'taken' }
  /** Another write of the same name is under way; nothing was stored. */
  | { readonly kind: 'busy'; readonly error: S3RequestError };

/** The five requests on objects of one bucket, by their full names. Failures are `RequestFailed` or definite errors. */
export class Objects {
  readonly #options: ObjectsOptions;

  constructor(options: ObjectsOptions) {
    this.#options = options;
  }

  /** One PUT that the service performs only if nothing has the name. */
  async create(name: string, upload: Upload, signal: AbortSignal | undefined): Promise<CreateOutcome> {
    const { bucket, encryption, wire } = this.#options;
    throwIfAborted(signal);
    let exchange: Exchange | undefined;
    const body = upload.body({
      signal,
      moved: () => exchange?.touch(),
      failed: () => exchange?.end(),
    });
    const command = new PutObjectCommand({
      Bucket: bucket,
      Key: name,
      Body: body.content,
      ContentLength: upload.size,
      ContentType: 'application/octet-stream',
      ChecksumSHA256: Buffer.from(upload.sha256, 'hex').toString('base64'),
      IfNoneMatch: '*',
      Metadata: { [digestName]: upload.sha256 },
      ...encryption.write,
    });
    // Until the last byte is handed over an abort ends the request; from there on its answer is waited for.
    using _ = onAbort(signal, () => {
      if (!body.complete()) exchange?.end();
    });
    try {
      const output = await wire.send(
        'PutObject',
        asCommand(command),
        async (client, current) => {
          exchange = current;
          try {
            return await client.send(command, { abortSignal: current.signal });
          } catch (error) {
            if (body.complete()) throw error;
            if (signal?.aborted === true) throw new LocalFailure(signal.reason);
            const failure = body.failure();
            throw failure === undefined ? error : new LocalFailure(failure.error);
          } finally {
            // An answer that came early leaves a half-sent request behind.
            if (!body.drained()) current.end();
          }
        },
        { bodyBytes: upload.size, bodySha256: upload.sha256 },
      );
      const encrypted = output.ServerSideEncryption ?? output.SSECustomerAlgorithm;
      return { kind: 'created', encrypted: encrypted !== undefined };
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      const { error: failure } = error.failure;
      if (failure.status === 412) return { kind: 'taken' };
      if (failure.status === 409 && failure.reason !== 'OperationAborted') {
        return { kind: 'busy', error: failure };
      }
      // An answer that came before the whole object was sent, or a connection lost there, leaves no doubt.
      if (!body.complete()) throw failure;
      throw error;
    } finally {
      body.close();
    }
  }

  /**
   * Size, time and digest of an object; `undefined` when the service says that it is not there. One request, two for an
   * object without bytes.
   *
   * Not a HEAD: its answer has no body, so that it cannot tell a missing object from a missing bucket.
   */
  async look(name: string, signal: AbortSignal | undefined): Promise<StoredObject | undefined> {
    const { bucket, encryption, wire, clock, idleTimeoutMilliseconds } = this.#options;
    for (let attempt = 1; attempt <= lookAttempts; attempt += 1) {
      const command = new GetObjectCommand({
        Bucket: bucket,
        Key: name,
        Range: 'bytes=0-0',
        ...encryption.read,
      });
      try {
        const output = await wire.send(
          'GetObject',
          asCommand(command),
          async (client, exchange) => await client.send(command, { abortSignal: exchange.signal }),
          { signal },
        );
        const total = totalOf(output.ContentRange);
        // One byte is read, so that the connection can be used again; a whole object is not.
        const body = output.Body as Readable;
        if (total === undefined) await discard(body);
        else await drain(body, clock, idleTimeoutMilliseconds);
        const size = total ?? output.ContentLength;
        return this.#stored(size, output.LastModified, output.Metadata);
      } catch (error) {
        if (isAbsent(error)) return undefined;
        if (!isBeyondTheEnd(error)) throw error;
      }
      const empty = await this.#head(name, signal);
      if (empty !== undefined) return empty;
      // Gone between the two requests: look once more.
    }
    throw nonsense('GetObject');
  }

  async #head(name: string, signal: AbortSignal | undefined): Promise<StoredObject | undefined> {
    const { bucket, encryption, wire } = this.#options;
    const command = new HeadObjectCommand({ Bucket: bucket, Key: name, ...encryption.read });
    try {
      const output = await wire.send(
        'HeadObject',
        asCommand(command),
        async (client, exchange) => await client.send(command, { abortSignal: exchange.signal }),
        { signal },
      );
      return this.#stored(output.ContentLength, output.LastModified, output.Metadata);
    } catch (error) {
      if (error instanceof RequestFailed && error.failure.error.status === 404) return undefined;
      throw error;
    }
  }

  #stored(
    size: number | undefined,
    modified: Date | undefined,
    metadata: Readonly<Record<string, string>> | undefined,
  ): StoredObject {
    if (size === undefined || modified === undefined) throw nonsense('GetObject');
    return { size, modified: wholeSeconds(modified), sha256: digestOf(metadata) };
  }

  /**
   * Opens an object, or a range of at least one byte of it. `undefined` when it is not there, its size when the range
   * begins beyond its end.
   */
  async open(
    key: string,
    name: string,
    range: ByteRange | undefined,
    signal: AbortSignal | undefined,
  ): Promise<BlobContent | 'absent' | 'beyond'> {
    const { bucket, encryption, wire, clock, idleTimeoutMilliseconds } = this.#options;
    const command = new GetObjectCommand({
      Bucket: bucket,
      Key: name,
      ...(range === undefined ? {} : { Range: `bytes=${range.start}-${range.end - 1}` }),
      ...encryption.read,
    });
    try {
      const output = await wire.send(
        'GetObject',
        asCommand(command),
        async (client, exchange) => await client.send(command, { abortSignal: exchange.signal }),
        { signal },
      );
      const body = output.Body as Readable;
      const size = range === undefined ? output.ContentLength : totalOf(output.ContentRange);
      const sha256 = range === undefined ? digestOf(output.Metadata) : undefined;
      const content =
        size === undefined
          ? undefined
          : download(body, { key, size, sha256, clock, idleTimeoutMilliseconds, signal });
      if (content !== undefined && (range === undefined || startOf(output.ContentRange) === range.start)) {
        return content;
      }
      await discard(body);
      if (range === undefined) throw nonsense('GetObject');
      const answer = output.ContentRange === undefined ? 'the whole object' : 'another range';
      throw new S3BucketUnsuitableError(bucket, 'ignores-ranges', `a range was asked for, ${answer} came`);
    } catch (error) {
      if (isAbsent(error)) return 'absent';
      if (range !== undefined && isBeyondTheEnd(error)) return 'beyond';
      throw error;
    }
  }

  /** Objects whose names start with `prefix`, page by page. */
  async *list(prefix: string, signal: AbortSignal | undefined): AsyncGenerator<BlobEntry, void, undefined> {
    const { bucket, wire } = this.#options;
    let after: string | undefined;
    for (;;) {
      const command = new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        // Names of others may hold what XML cannot.
        EncodingType: 'url',
        ...(after === undefined ? {} : { StartAfter: after }),
      });
      const page = await wire.send(
        'ListObjectsV2',
        asCommand(command),
        async (client, exchange) => await client.send(command, { abortSignal: exchange.signal }),
        { signal },
      );
      const encoded = page.EncodingType === 'url';
      for (const { Key, Size, LastModified } of page.Contents ?? []) {
        if (Key === undefined || Size === undefined || LastModified === undefined)
          throw nonsense('ListObjectsV2');
        const name = encoded ? decodeName(Key) : Key;
        if (after !== undefined && compareNames(name, after) <= 0) {
          throw new S3BucketUnsuitableError(
            bucket,
            'unsorted-listing',
            'a key came after one that sorts behind it',
          );
        }
        after = name;
        throwIfAborted(signal);
        yield { key: name, size: Size, modified: wholeSeconds(LastModified) };
      }
      if (page.IsTruncated !== true) return;
      if ((page.Contents ?? []).length === 0) throw nonsense('ListObjectsV2');
    }
  }

  /** Removes an object; succeeds when there is none. */
  async remove(name: string): Promise<void> {
    const { bucket, wire } = this.#options;
    const command = new DeleteObjectCommand({ Bucket: bucket, Key: name });
    await wire.send(
      'DeleteObject',
      asCommand(command),
      async (client, exchange) => await client.send(command, { abortSignal: exchange.signal }),
    );
  }
}

/** Only the stack of a command is used generically; its methods do not vary with the command's own types. */
function asCommand(command: { readonly middlewareStack: unknown }): S3Command {
  return command as S3Command;
}

/** "Not there" is what the service says of this object, not what is left when something else is missing. */
function isAbsent(error: unknown): boolean {
  if (!(error instanceof RequestFailed)) return false;
  const { status, reason } = error.failure.error;
  return status === 404 && reason === 'NoSuchKey';
}

function isBeyondTheEnd(error: unknown): boolean {
  return error instanceof RequestFailed && error.failure.error.status === 416;
}

function digestOf(metadata: Readonly<Record<string, string>> | undefined): string | undefined {
  const digest = metadata?.[digestName];
  return digest !== undefined && /^[0-9a-f]{64}$/.test(digest) ? digest : undefined;
}

/** A `Content-Range` is `bytes START-END/TOTAL`. */
function totalOf(contentRange: string | undefined): number | undefined {
  const total = /^bytes \d+-\d+\/(\d+)$/.exec(contentRange ?? '')?.[1];
  return total === undefined ? undefined : Number(total);
}

function startOf(contentRange: string | undefined): number | undefined {
  const start = /^bytes (\d+)-/.exec(contentRange ?? '')?.[1];
  return start === undefined ? undefined : Number(start);
}

/** Answers about one object carry whole seconds, listings fractions: both have to say the same. */
function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000;
}

function decodeName(encoded: string): string {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    // Not UTF-8: no key of ours. It keeps its place in the order.
    return encoded;
  }
}

/** Order by bytes of UTF-8, as the service sorts. */
function compareNames(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function nonsense(operation: 'GetObject' | 'ListObjectsV2'): S3RequestError {
  return new S3RequestError(operation, { kind: 'nonsense' }, false);
}

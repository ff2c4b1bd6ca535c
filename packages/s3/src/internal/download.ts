import type { Readable } from 'node:stream';

import { type Clock, createSha256, onAbort, toHex } from '@holdfast/base';
import { type BlobContent, BlobIntegrityError } from '@holdfast/blobs';

import { S3RequestError } from '../errors.js';
import { readFailure } from './failure.js';
import { IdleTimer } from './idle-timer.js';

export interface DownloadOptions {
  readonly key: string;
  /** Size of the whole object. */
  readonly size: number;
  /** Hex SHA-256 of what is being read; absent when it is not known (a range). */
  readonly sha256: string | undefined;
  readonly clock: Clock;
  readonly idleTimeoutMilliseconds: number;
  readonly signal: AbortSignal | undefined;
}

/** The body of an answer as the content of a read. */
export function download(body: Readable, options: DownloadOptions): BlobContent {
  const timeout = new S3RequestError('GetObject', { kind: 'timeout' }, true);
  // A body that fails while nobody reads must not end the process.
  body.on('error', () => undefined);
  const subscription = onAbort(options.signal, () => {
    body.destroy();
  });
  return {
    size: options.size,
    chunks: checkedChunks(body, options, timeout),
    close: async () => {
      subscription[Symbol.dispose]();
      await discard(body);
    },
  };
}

/** Frees the connection of an answer that nobody wants to read further. */
export async function discard(body: Readable): Promise<void> {
  body.on('error', () => undefined);
  if (body.closed) return;
  await new Promise<void>((resolve) => {
    body.once('close', resolve);
    body.destroy();
  });
}

/** Reads the little that is left of an answer, so that its connection can be used again; gives it up when it stops. */
export async function drain(body: Readable, clock: Clock, idleTimeoutMilliseconds: number): Promise<void> {
  using timer = new IdleTimer(clock, idleTimeoutMilliseconds, () => body.destroy());
  timer.touch();
  body.on('error', () => undefined);
  body.resume();
  if (!body.closed) await new Promise<void>((resolve) => body.once('close', resolve));
}

async function* checkedChunks(
  body: Readable,
  options: DownloadOptions,
  timeout: S3RequestError,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { key, sha256, signal } = options;
  const hash = sha256 === undefined ? undefined : createSha256();
  // The last chunk is handed out when the whole is known to be right.
  let held: Uint8Array | undefined;
  using timer = new IdleTimer(options.clock, options.idleTimeoutMilliseconds, () => body.destroy(timeout));
  const iterator = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  for (;;) {
    timer.touch();
    let step: IteratorResult<Uint8Array>;
    try {
      step = await iterator.next();
    } catch (raw) {
      if (signal?.aborted === true) throw signal.reason;
      if (raw === timeout) throw timeout;
      throw readFailure('GetObject', raw, { sent: true, timedOut: false }).error;
    }
    // A slow reader is not a slow service.
    timer.stop();
    if (step.done === true) break;
    hash?.update(step.value);
    if (hash === undefined) {
      yield step.value;
      continue;
    }
    if (held !== undefined) yield held;
    held = step.value;
  }
  if (hash !== undefined && toHex(hash.digest()) !== sha256) {
    if (body.readableAborted) throw new S3RequestError('GetObject', { kind: 'broken' }, true);
    throw new BlobIntegrityError(
      key,
      'changed',
      'its bytes do not have the digest that was stored with them',
    );
  }
  if (held !== undefined) yield held;
}

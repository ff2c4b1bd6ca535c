import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { type Clock, onAbort, throwIfAborted } from '@holdfast/base';

import type { S3Operation } from '../errors.js';
import type { S3RequestEvent } from '../options.js';
import { type Failure, type Progress, readFailure, statusOf } from './failure.js';
import { IdleTimer } from './idle-timer.js';

export interface WireOptions {
  readonly client: S3ClientConfig;
  readonly clock: Clock;
  readonly connectTimeoutMilliseconds: number;
  readonly idleTimeoutMilliseconds: number;
  readonly onRequest: ((event: S3RequestEvent) => void) | undefined;
}

/** A request in flight. */
export interface Exchange {
  readonly signal: AbortSignal;
  /** Ends the request, unless it has ended. */
  end(): void;
  /** Something moved: the time without progress starts again. */
  touch(): void;
}

export interface SendOptions {
  /** Ends the request. Never given to a request that changes something and has been sent completely. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes of the body. */
  readonly bodyBytes?: number | undefined;
  /** Hex SHA-256 of the body, signed with the request: the service refuses a body that is another. */
  readonly bodySha256?: string | undefined;
}

/** The parts of the client's commands that are used here; each command's own types are kept by its builder. */
export interface S3Command {
  readonly middlewareStack: {
    add(
      middleware: Middleware,
      options: { step: 'build' | 'deserialize'; name: string; priority: 'low' },
    ): void;
  };
}

type Middleware = (next: Handler) => Handler;
type Handler = (call: { request: unknown; input: never }) => Promise<{ response: unknown; output: never }>;

/** Sends requests: once each, with a limit on silence, failures stripped of everything that nobody should see. */
export class Wire {
  readonly #client: S3Client;
  readonly #options: WireOptions;

  constructor(options: WireOptions) {
    this.#options = options;
    this.#client = new S3Client({
      requestHandler: { connectionTimeout: options.connectTimeoutMilliseconds },
      ...options.client,
      // A repeat after an unknown outcome is for the layers above, which know what it means.
      maxAttempts: 1,
      // The digest of the whole body is signed instead: other servers than the original do not know the newer forms.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
    // Even for one attempt the client's own retries complain on the console of every body that cannot be sent twice.
    this.#client.middlewareStack.add((next) => async (call) => await next(call), {
      name: 'retryMiddleware',
      step: 'finalizeRequest',
      priority: 'high',
      override: true,
    });
  }

  /**
   * Sends one request. `run` makes the client's call with the exchange's signal.
   * @throws RequestFailed, or the reason of the caller's signal.
   */
  async send<Output>(
    operation: S3Operation,
    command: S3Command,
    run: (client: S3Client, exchange: Exchange) => Promise<Output>,
    options: SendOptions = {},
  ): Promise<Output> {
    throwIfAborted(options.signal);
    const { clock, idleTimeoutMilliseconds, onRequest } = this.#options;
    const progress: Progress = { sent: false, timedOut: false };
    prepare(command, progress, options.bodySha256);
    const controller = new AbortController();
    const end = (): void => {
      controller.abort();
    };
    using timer = new IdleTimer(clock, idleTimeoutMilliseconds, () => {
      progress.timedOut = true;
      end();
    });
    using _ = onAbort(options.signal, end);
    const started = clock.monotonic();
    const report = (status: number | undefined): void => {
      onRequest?.({ operation, status, durationMilliseconds: clock.monotonic() - started });
    };
    const touch = (): void => {
      timer.touch(buffered(options.bodyBytes ?? 0));
    };
    touch();
    try {
      const exchange = { signal: controller.signal, end, touch };
      const output = await run(this.#client, exchange);
      report(statusOf(output));
      return output;
    } catch (raw) {
      if (raw instanceof LocalFailure) throw raw.error;
      report(statusOf(raw));
      throwIfAborted(options.signal);
      throw new RequestFailed(readFailure(operation, raw, progress));
    }
  }

  close(): void {
    this.#client.destroy();
  }
}

/** What the system may hold of a body that was handed over. It leaves unseen, so time is allowed for it. */
const mostBuffered = 4 * 1024 * 1024;
const slowestBytesPerMillisecond = 50;

function buffered(bytes: number): number {
  return Math.min(bytes, mostBuffered) / slowestBytesPerMillisecond;
}

/** A failed request as the driver's own code meets it. Never leaves the driver. */
export class RequestFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.error.message);
    this.failure = failure;
  }
}

/** The failure of a request as callers may see it. */
export function publicFailure(error: unknown): unknown {
  return error instanceof RequestFailed ? error.failure.error : error;
}

/** Marks a failure on this side of the wire (a source that failed): it passes as it is. */
export class LocalFailure extends Error {
  readonly error: unknown;

  constructor(error: unknown) {
    super('a request was given up on this side');
    this.error = error;
  }
}

function prepare(command: S3Command, progress: Progress, bodySha256: string | undefined): void {
  const { middlewareStack } = command;
  if (bodySha256 !== undefined) {
    middlewareStack.add(
      (next) => async (call) => {
        (call.request as { headers: Record<string, string> }).headers['x-amz-content-sha256'] = bodySha256;
        return await next(call);
      },
      { step: 'build', name: 'holdfastBodyDigest', priority: 'low' },
    );
  }
  middlewareStack.add(
    (next) => async (call) => {
      progress.sent = true;
      return await next(call);
    },
    { step: 'deserialize', name: 'holdfastProgress', priority: 'low' },
  );
}

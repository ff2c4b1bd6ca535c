import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { type Clock, systemClock } from '@holdfast/base';

import { answerError, answerListing } from './answers.js';

/** How a double can break its word, each as some real server does. */
export type S3Lie =
  /** Overwrites, whatever `If-None-Match` says. */
  | 'ignores-conditions'
  /** Looks whether the name is free, waits, writes: several of a race win. */
  | 'checks-then-writes'
  /** Says 412 and overwrites all the same. */
  | 'overwrites-when-refusing'
  /** Answers a range with the whole object. */
  | 'ignores-ranges'
  /** Takes the end of a range for exclusive: one byte is missing. */
  | 'short-ranges'
  /** Answers reads from a copy that is one write behind. */
  | 'stale-reads'
  /** Lists from a copy that is one write behind. */
  | 'stale-listing'
  /** Goes on listing what was deleted. */
  | 'lists-deleted'
  /** Lists the last key first. */
  | 'unsorted-listing'
  /** Says nothing of encryption that was asked for. */
  | 'ignores-encryption';

/** What to do with one request instead of serving it. */
export type S3Fault =
  /** Answer with an error. `more` is added to its XML. */
  | {
      readonly kind: 'refuse';
      readonly status: number;
      readonly code: string;
      readonly more?: string | undefined;
    }
  /** Answer 404 with a page, as a proxy does that knows nothing. */
  | { readonly kind: 'page' }
  /** Reset the connection before anything is done. */
  | { readonly kind: 'reset' }
  /** Do it, then reset the connection instead of answering. */
  | { readonly kind: 'lose-answer' }
  /** Do it, and answer with an error all the same, as a gateway does that lost its server. */
  | { readonly kind: 'replace-answer'; readonly status: number; readonly code: string }
  /** Do it, send half of the answer's body, reset. */
  | { readonly kind: 'cut-answer' }
  /** Do it, send half of the answer's body, and no more. */
  | { readonly kind: 'stall-answer' }
  /** Flip a bit of the answer's body. */
  | { readonly kind: 'flip' }
  /** Do it and never answer. */
  | { readonly kind: 'hang' };

export interface S3DoubleRequest {
  readonly method: string;
  /** Name of the object; empty for a listing. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface S3DoubleOptions {
  /** Default `bucket`. The only bucket there is. */
  readonly bucket?: string | undefined;
  readonly lies?: readonly S3Lie[] | undefined;
  /** Asked before each request is served. */
  readonly fault?: ((request: S3DoubleRequest) => S3Fault | undefined) | undefined;
  /** Stamps objects. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Keys of a page. Default 1000. */
  readonly pageSize?: number | undefined;
}

interface Stored {
  readonly bytes: Buffer;
  readonly modified: Date;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * An S3 server in memory, on loopback, for tests: one bucket, strongly consistent, honest unless told otherwise. It
 * checks digests, not signatures. Dispose it to stop it.
 *
 * Not a substitute for a test against the service that will be used.
 */
export class S3Double implements AsyncDisposable {
  readonly bucket: string;
  readonly endpoint: string;
  /** What was asked for, in order. */
  readonly requests: S3DoubleRequest[] = [];
  readonly #server: Server;
  readonly #options: S3DoubleOptions;
  readonly #objects = new Map<string, Stored>();
  readonly #clock: Clock;
  #before = new Map<string, Stored>();

  private constructor(server: Server, options: S3DoubleOptions) {
    this.#server = server;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.bucket = options.bucket ?? 'bucket';
    this.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      this.#serve(request, response).catch(() => request.socket.destroy());
    });
  }

  static async start(options: S3DoubleOptions = {}): Promise<S3Double> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new S3Double(server, options);
  }

  /** A client configuration that reaches it. */
  get client(): S3ClientConfig {
    return {
      endpoint: this.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: 'double', secretAccessKey: 'double' },
    };
  }

  /** Names of the objects, sorted. */
  names(): string[] {
    return [...this.#objects.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }

  /** Bytes of an object; `undefined` when there is none. */
  bytes(name: string): Uint8Array | undefined {
    return this.#objects.get(name)?.bytes;
  }

  /** Puts bytes behind everybody's back, with the headers of the object that was there. */
  plant(name: string, bytes: Uint8Array): void {
    const { headers = {}, modified = this.#now() } = this.#objects.get(name) ?? {};
    this.#objects.set(name, { bytes: Buffer.from(bytes), modified, headers });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.endpoint);
    const [bucket = '', ...segments] = url.pathname.slice(1).split('/');
    const name = segments.map(decodeURIComponent).join('/');
    const method = request.method ?? '';
    const seen: S3DoubleRequest = { method, name, headers: request.headers };
    this.requests.push(seen);
    const fault = this.#options.fault?.(seen);
    if (fault?.kind === 'reset') {
      request.socket.resetAndDestroy();
      return;
    }
    const body = await readBody(request);
    if (fault?.kind === 'refuse') {
      answerError(response, fault.status, fault.code, fault.more);
    } else if (fault?.kind === 'page') {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<html><body>Not Found</body></html>');
    } else if (bucket !== this.bucket) {
      answerError(response, 404, 'NoSuchBucket');
    } else {
      const answer = fault === undefined ? response : breakAnswer(request, response, fault);
      if (method === 'PUT') await this.#put(request, answer, name, body);
      else if (method === 'DELETE') this.#delete(answer, name);
      else if (name === '') this.#list(answer, url.searchParams);
      else this.#get(request, answer, name);
    }
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }

  #lies(lie: S3Lie): boolean {
    return this.#options.lies?.includes(lie) === true;
  }

  async #put(request: IncomingMessage, response: ServerResponse, name: string, body: Buffer): Promise<void> {
    const { headers } = request;
    const digest = createHash('sha256').update(body).digest();
    if (headers['x-amz-content-sha256'] !== digest.toString('hex')) {
      answerError(response, 400, 'XAmzContentSHA256Mismatch');
      return;
    }
    if ((headers['x-amz-checksum-sha256'] ?? digest.toString('base64')) !== digest.toString('base64')) {
      answerError(response, 400, 'BadDigest');
      return;
    }
    const conditional = headers['if-none-match'] === '*' && !this.#lies('ignores-conditions');
    const refused = conditional && this.#objects.has(name);
    if (this.#lies('checks-then-writes')) await this.#clock.sleep(20);
    if (!refused || this.#lies('overwrites-when-refusing')) {
      this.#before = new Map(this.#objects);
      const kept = Object.entries(headers).filter(([header]) => header.startsWith('x-amz-meta-'));
      const stored = { bytes: body, modified: this.#now(), headers: Object.fromEntries(kept) };
      this.#objects.set(name, stored as Stored);
    }
    if (refused) {
      answerError(response, 412, 'PreconditionFailed');
      return;
    }
    const asked = Object.entries(headers).filter(([header]) =>
      /^x-amz-server-side-encryption(-customer-algorithm)?$/.test(header),
    );
    const encryption = this.#lies('ignores-encryption') ? [] : asked;
    response.writeHead(200, { ...(Object.fromEntries(encryption) as Record<string, string>), etag: '"0"' });
    response.end();
  }

  #get(request: IncomingMessage, response: ServerResponse, name: string): void {
    const stored = (this.#lies('stale-reads') ? this.#before : this.#objects).get(name);
    if (stored === undefined) {
      answerError(response, 404, 'NoSuchKey');
      return;
    }
    const size = stored.bytes.length;
    const base = {
      ...stored.headers,
      'last-modified': stored.modified.toUTCString(),
      'content-type': 'application/octet-stream',
    };
    const match = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    if (request.method === 'HEAD' || match === null || this.#lies('ignores-ranges')) {
      response.writeHead(200, { ...base, 'content-length': size });
      response.end(request.method === 'HEAD' ? undefined : stored.bytes);
      return;
    }
    const start = Number(match[1]);
    if (start >= size) {
      answerError(response, 416, 'InvalidRange');
      return;
    }
    const end = Math.min(size, Number(match[2]) + (this.#lies('short-ranges') ? 0 : 1));
    const part = stored.bytes.subarray(start, end);
    response.writeHead(206, {
      ...base,
      'content-length': part.length,
      'content-range': `bytes ${start}-${end - 1}/${size}`,
    });
    response.end(part);
  }

  #list(response: ServerResponse, query: URLSearchParams): void {
    const source = this.#lies('stale-listing') ? this.#before : this.#objects;
    const names = this.#lies('lists-deleted')
      ? [...new Set([...this.#before.keys(), ...this.#objects.keys()])]
      : [...source.keys()];
    const [prefix, after] = [query.get('prefix') ?? '', query.get('start-after') ?? ''];
    const wanted = names
      .filter((name) => name.startsWith(prefix) && Buffer.compare(Buffer.from(name), Buffer.from(after)) > 0)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    if (this.#lies('unsorted-listing')) wanted.reverse();
    const page = wanted.slice(0, this.#options.pageSize ?? 1000);
    const listed = page.map((name) => {
      const { bytes, modified } = (this.#objects.get(name) ?? this.#before.get(name)) as Stored;
      return { name, size: bytes.length, modified };
    });
    answerListing(response, listed, page.length < wanted.length);
  }

  #delete(response: ServerResponse, name: string): void {
    this.#before = new Map(this.#objects);
    this.#objects.delete(name);
    response.writeHead(204).end();
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** Lets the answer be made and does to it what the fault says. */
function breakAnswer(request: IncomingMessage, response: ServerResponse, fault: S3Fault): ServerResponse {
  const end = response.end.bind(response) as (chunk?: unknown) => ServerResponse;
  if (fault.kind === 'replace-answer') {
    const writeHead = response.writeHead.bind(response);
    response.writeHead = () => response;
    response.end = () => {
      Object.assign(response, { writeHead, end });
      answerError(response, fault.status, fault.code);
      return response;
    };
    return response;
  }
  const broken = (chunk?: unknown): ServerResponse => {
    const bytes = Buffer.from((chunk ?? '') as string);
    if (fault.kind === 'lose-answer') request.socket.resetAndDestroy();
    else if (fault.kind === 'flip') end(flipped(bytes));
    else if (fault.kind === 'stall-answer') {
      response.flushHeaders();
      response.write(bytes.subarray(0, bytes.length / 2));
    } else if (fault.kind === 'cut-answer') {
      response.write(bytes.subarray(0, bytes.length / 2), () => request.socket.resetAndDestroy());
    }
    return response;
  };
  response.end = broken as typeof response.end;
  return response;
}

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length > 0) copy[copy.length >> 1] = (copy[copy.length >> 1] as number) ^ 1;
  return copy;
}

import { createConnection, type Socket } from 'node:net';

import { type JsonValue, onAbort, throwIfAborted } from '@holdfast/base';

import { type Deferred, deferred } from '../internal/deferred.js';
import { ControlCallError, ControlUnavailableError } from './errors.js';
import { readLines } from './line-reader.js';
import type { ControlMethod, ControlMethods, ControlRequest, ControlResponse } from './protocol.js';

/** Asks the live owner of a session, from another process of the same user. */
export class ControlClient implements AsyncDisposable {
  readonly #path: string;
  readonly #socket: Socket;
  readonly #calls = new Map<number, { readonly method: string; readonly answer: Deferred<JsonValue> }>();
  #lastId = 0;
  #ended: ControlUnavailableError | undefined;

  private constructor(path: string, socket: Socket) {
    this.#path = path;
    this.#socket = socket;
    readLines(
      socket,
      (value) => {
        this.#receive(value as ControlResponse);
      },
      (why) => {
        this.#end(new ControlUnavailableError('protocol', path, why));
      },
    );
    socket.on('error', (cause) => {
      this.#end(new ControlUnavailableError('disconnected', path, cause.message, { cause }));
    });
    socket.once('close', () => {
      this.#end(new ControlUnavailableError('disconnected', path, 'the owner went away'));
    });
  }

  /**
   * Connects to the socket that a session's owner announced.
   * @throws ControlUnavailableError (`not-listening`) when nobody listens there.
   */
  static async connect(
    path: string,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<ControlClient> {
    const { signal } = options;
    throwIfAborted(signal);
    const socket = createConnection(path);
    const connected = deferred<void>();
    using _abort = onAbort(signal, (reason) => {
      socket.destroy();
      connected.reject(reason);
    });
    socket.once('connect', () => {
      connected.resolve();
    });
    socket.once('error', (cause) => {
      connected.reject(new ControlUnavailableError('not-listening', path, cause.message, { cause }));
    });
    await connected.promise;
    return new ControlClient(path, socket);
  }

  /**
   * Calls a method. An abort cancels it at the owner and rejects with the signal's reason; what the owner had committed
   * by then stays.
   * @throws ControlCallError with the owner's error; ControlUnavailableError when the owner went away.
   */
  async call<Method extends ControlMethod>(
    method: Method,
    params: ControlMethods[Method]['params'],
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<ControlMethods[Method]['result']> {
    const { signal } = options;
    throwIfAborted(signal);
    if (this.#ended !== undefined) throw this.#ended;
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = deferred<JsonValue>();
    this.#calls.set(id, { method, answer });
    this.#send({ id, method, params: JSON.parse(JSON.stringify(params)) as JsonValue });
    using _abort = onAbort(signal, (reason) => {
      this.#send({ cancel: id });
      answer.reject(reason);
    });
    try {
      return (await answer.promise) as ControlMethods[Method]['result'];
    } finally {
      this.#calls.delete(id);
    }
  }

  /** Ends the connection; what was asked for and is not answered is cancelled. Idempotent. */
  close(): Promise<void> {
    this.#end(new ControlUnavailableError('disconnected', this.#path, 'the connection was closed'));
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #send(request: ControlRequest): void {
    if (!this.#socket.destroyed) this.#socket.write(`${JSON.stringify(request)}\n`);
  }

  #receive(response: ControlResponse): void {
    const call = this.#calls.get(response.id);
    if (call === undefined) return;
    if ('error' in response) call.answer.reject(new ControlCallError(call.method, response.error));
    else call.answer.resolve(response.result);
  }

  #end(error: ControlUnavailableError): void {
    this.#ended ??= error;
    for (const { answer } of this.#calls.values()) answer.reject(this.#ended);
    this.#socket.destroy();
  }
}

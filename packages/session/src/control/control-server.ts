import { createServer, type Server, type Socket } from 'node:net';

import { DisposalStack, isHoldfastError, type JsonValue } from '@holdfast/base';
import { Dir, ensureDirectory, FileSystemError, nodeFileSystem } from '@holdfast/durable';

import { ControlUnavailableError } from './errors.js';
import { readLines } from './line-reader.js';
import type { ControlRequest, ControlResponse } from './protocol.js';

/** Answers calls; what it throws is sent as JSON. */
export type ControlHandler = (method: string, params: JsonValue, signal: AbortSignal) => Promise<JsonValue>;

// The kernel's limit for a socket's path is 108 bytes with its final NUL; macOS has 104.
const maxPathBytes = 103;

/**
 * Listens at a socket in a directory that only its owner can enter. One owner at a time: whoever holds the session's lease
 * takes the place of a dead owner's socket.
 * @throws ControlUnavailableError when the path is too long or others can enter the directory.
 */
export async function serveControl(
  directory: string,
  name: string,
  handler: ControlHandler,
): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = `${directory}/${name}`;
  if (Buffer.byteLength(path) > maxPathBytes) {
    throw new ControlUnavailableError(
      'path-too-long',
      path,
      `use a directory that leaves ${maxPathBytes} bytes`,
    );
  }
  using held = await ensureDirectory(nodeFileSystem(), directory, { mode: 0o700 });
  refuseOpenDirectory(held, path);
  // Whoever stops listening removes the name under which he began to; the session's may be another owner's by then.
  const begun = `${name.slice(0, 8)}-${process.pid}.new`;
  if (held.lstat(begun)?.kind === 'socket') held.unlink(begun);
  const server = new ControlServer(handler);
  await server.listen(`${directory}/${begun}`);
  const own = held.lstat(begun)?.ino;
  // The directory keeps others out already; this says so on the socket itself.
  held.chmodAt(begun, 0o600);
  held.rename(begun, held, name);
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      removeOwn(directory, name, own);
      await server.close();
    },
  };
}

function removeOwn(directory: string, name: string, own: bigint | undefined): void {
  try {
    using held = Dir.openRoot(nodeFileSystem(), directory);
    if (held.lstat(name)?.ino === own) held.unlink(name);
  } catch (error) {
    if (!FileSystemError.is(error) || error.errno !== 'ENOENT') throw error;
  }
}

function refuseOpenDirectory(directory: Dir, path: string): void {
  const { mode, uid } = directory.stat();
  const user = process.geteuid?.();
  if ((mode & 0o077) === 0 && (user === undefined || uid === user)) return;
  throw new ControlUnavailableError('not-private', path, 'its directory must belong to this user alone');
}

class ControlServer {
  readonly #handler: ControlHandler;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();

  constructor(handler: ControlHandler) {
    this.#handler = handler;
    this.#server = createServer((socket) => {
      this.#accept(socket);
    });
  }

  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    // A session must not keep a process alive that has nothing else to do.
    this.#server.unref();
  }

  async close(): Promise<void> {
    const stack = new DisposalStack();
    stack.defer(async () => {
      await new Promise<void>((resolve) => {
        this.#server.close(() => {
          resolve();
        });
      });
    });
    for (const connection of this.#connections) {
      stack.defer(() => {
        connection.end();
      });
    }
    await stack.close();
  }

  #accept(socket: Socket): void {
    const connection = new Connection(socket, this.#handler);
    this.#connections.add(connection);
    socket.unref();
    socket.once('close', () => {
      connection.end();
      this.#connections.delete(connection);
    });
  }
}

/** One client; what it asked for is cancelled when it goes. */
class Connection {
  readonly #socket: Socket;
  readonly #handler: ControlHandler;
  readonly #calls = new Map<number, AbortController>();

  constructor(socket: Socket, handler: ControlHandler) {
    this.#socket = socket;
    this.#handler = handler;
    socket.on('error', () => socket.destroy());
    readLines(
      socket,
      (value) => {
        this.#receive(value as ControlRequest);
      },
      () => socket.destroy(),
    );
  }

  end(): void {
    for (const call of this.#calls.values()) call.abort(new Error('the client went away'));
    this.#socket.destroy();
  }

  #receive(request: ControlRequest): void {
    if (typeof request !== 'object' || request === null) {
      this.#socket.destroy();
      return;
    }
    if ('cancel' in request) {
      this.#calls.get(request.cancel)?.abort(new Error('the client cancelled the call'));
      return;
    }
    const { id, method, params } = request;
    if (!Number.isSafeInteger(id) || typeof method !== 'string' || this.#calls.has(id)) {
      this.#socket.destroy();
      return;
    }
    this.#answer(id, method, params).catch(() => this.#socket.destroy());
  }

  async #answer(id: number, method: string, params: JsonValue): Promise<void> {
    const call = new AbortController();
    this.#calls.set(id, call);
    let response: ControlResponse;
    try {
      response = { id, result: await this.#handler(method, params ?? {}, call.signal) };
    } catch (error) {
      response = { id, error: errorJson(error) };
    }
    this.#calls.delete(id);
    if (!this.#socket.destroyed) this.#socket.write(`${JSON.stringify(response)}\n`);
  }
}

function errorJson(error: unknown): Readonly<Record<string, JsonValue>> {
  if (isHoldfastError(error)) return JSON.parse(JSON.stringify(error)) as Record<string, JsonValue>;
  return { code: '', message: error instanceof Error ? error.message : String(error) };
}

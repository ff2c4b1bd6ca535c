import { createServer, type Server } from 'node:net';

import { type Clock, HoldfastError, quote, sha256Hex, systemClock, throwIfAborted } from '@holdfast/base';

import { LeaseHeldError } from '../errors.js';
import { openFsLeaser } from './open-fs-leaser.js';

/** Another process of this host works on the same directory; it is not overtaken while it lives, stopped or not. */
export class HostLockHeldError extends HoldfastError {
  static override readonly code = 'LEASE_HOST_LOCK_HELD';
  declare readonly code: 'LEASE_HOST_LOCK_HELD';
  declare readonly path: string;

  constructor(path: string, options: { readonly cause?: unknown } = {}) {
    super(`another process of this host is changing ${quote(path)}: wait for its end or end it`, {
      ...options,
      fields: { path },
      effect: 'none',
    });
  }
}

export interface HostLockOptions {
  /** Wait for the present holder instead of failing. Default `false`. */
  readonly wait?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  /**
   * Where the lock's files go on platforms without abstract sockets (default: `<path>.lock`). Not made on Linux, where
   * nothing is written.
   */
  readonly directory?: string | undefined;
  /** Default: the running one. */
  readonly platform?: NodeJS.Platform | undefined;
}

const pollInterval = 50;

/**
 * Takes the lock of this host that is named by an absolute canonical path. Unlike a lease it has no epoch and no time:
 * the kernel frees it when the process ends in any way, and a stopped holder keeps it. On Linux it is an abstract
 * socket, so that nothing is left on the disk; elsewhere a lease in a directory.
 *
 * It excludes the processes of one network namespace (Linux): containers that share a directory but no namespace need a
 * lease on storage that they share.
 *
 * @throws HostLockHeldError while another holder lives, unless `wait`.
 */
export async function acquireHostLock(path: string, options: HostLockOptions = {}): Promise<AsyncDisposable> {
  const clock = options.clock ?? systemClock;
  for (;;) {
    throwIfAborted(options.signal);
    const lock = await attempt(path, options);
    if (!(lock instanceof HostLockHeldError)) return lock;
    if (options.wait !== true) throw lock;
    await clock.sleep(pollInterval, { signal: options.signal });
  }
}

async function attempt(path: string, options: HostLockOptions): Promise<AsyncDisposable | HostLockHeldError> {
  const platform = options.platform ?? process.platform;
  return platform === 'linux' || platform === 'android'
    ? await listen(path)
    : await lease(path, options.directory ?? `${path}.lock`);
}

async function listen(path: string): Promise<AsyncDisposable | HostLockHeldError> {
  const server = createServer((connection) => {
    connection.destroy();
  });
  const problem = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve);
    server.listen(`\0holdfast-root-${sha256Hex(new TextEncoder().encode(path))}`, () => {
      resolve(undefined);
    });
  });
  if (problem?.code === 'EADDRINUSE') return new HostLockHeldError(path, { cause: problem });
  if (problem !== undefined) throw problem;
  server.unref();
  return { [Symbol.asyncDispose]: () => stopListening(server) };
}

function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // The only failure is "not running": the lock is free then too.
    server.close(() => {
      resolve();
    });
  });
}

async function lease(path: string, directory: string): Promise<AsyncDisposable | HostLockHeldError> {
  const leaser = await openFsLeaser(directory);
  try {
    const held = await leaser.acquire('root');
    return {
      [Symbol.asyncDispose]: async () => {
        await held.release();
        await leaser.close();
      },
    };
  } catch (error) {
    await leaser.close();
    if (LeaseHeldError.is(error)) return new HostLockHeldError(path, { cause: error });
    throw error;
  }
}

import type { FileSystem } from '@holdfast/durable';
import { type FileSystemCall, ForwardingFileSystem } from '@holdfast/durable/testing';

/** Calls `before` ahead of every call; what it throws is what the call throws. */
export class WatchedFileSystem extends ForwardingFileSystem {
  readonly #before: (call: FileSystemCall, count: number) => void;
  count = 0;

  constructor(inner: FileSystem, before: (call: FileSystemCall, count: number) => void) {
    super(inner);
    this.#before = before;
  }

  protected around<T>(call: FileSystemCall, run: () => T): T {
    this.count += 1;
    this.#before(call, this.count);
    return run();
  }
}

/** A file system with some calls replaced. */
export function withCalls(inner: FileSystem, calls: Partial<FileSystem>): FileSystem {
  return new Proxy(inner, {
    get: (target, name) => {
      const own = calls[name as keyof FileSystem] ?? target[name as keyof FileSystem];
      return typeof own === 'function' ? (own as (...args: unknown[]) => unknown).bind(target) : own;
    },
  });
}

import { FileSystemError } from '../errors.js';
import {
  type FileSystemCall,
  type FileSystemOperation,
  ForwardingFileSystem,
} from './forwarding-file-system.js';

export interface TracedCall extends FileSystemCall {
  /** The code of a call that failed. */
  readonly errno?: string | undefined;
}

/** Writes down every call, for counting and for comparing what one recipe does on two file systems. */
export class TracingFileSystem extends ForwardingFileSystem {
  readonly #calls: TracedCall[] = [];

  /** Every call so far, in the order in which they began. */
  get calls(): readonly TracedCall[] {
    return this.#calls;
  }

  /** Number of calls of one operation, or of all. */
  count(operation?: FileSystemOperation): number {
    return operation === undefined
      ? this.#calls.length
      : this.#calls.filter((call) => call.operation === operation).length;
  }

  /**
   * The calls that changed something, one line each, with `base` cut off paths and random parts of temporary names as
   * `*`: equal on two file systems when the recipe does the same.
   */
  changes(base = ''): string[] {
    const shorten = (path: string): string =>
      path.replace(base, '').replace(/(\.holdfast-(?:tmp|trash)-)[a-z0-9-]+-[0-9a-f]{16}/g, '$1*');
    return this.#calls
      .filter((call) => call.changes)
      .map(({ operation, path, target, errno }) =>
        [operation, shorten(path), ...(target === undefined ? [] : ['→', shorten(target)]), errno]
          .filter((part) => part !== undefined)
          .join(' '),
      );
  }

  /** Forgets the calls so far. */
  reset(): void {
    this.#calls.length = 0;
  }

  protected around<T>(call: FileSystemCall, run: () => T): T {
    const index = this.#calls.push(call) - 1;
    const failed = (error: unknown): never => {
      if (FileSystemError.is(error)) this.#calls[index] = { ...call, errno: error.errno };
      throw error;
    };
    try {
      const result = run();
      return result instanceof Promise ? (result.catch(failed) as T) : result;
    } catch (error) {
      return failed(error);
    }
  }
}

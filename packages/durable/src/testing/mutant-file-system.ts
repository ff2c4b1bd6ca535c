import type { FileSystem } from '../file-system.js';
import {
  type FileSystemCall,
  type FileSystemOperation,
  ForwardingFileSystem,
} from './forwarding-file-system.js';

/** Calls whose absence or delay the caller cannot see in a result. */
export type MutableOperation = Extract<
  FileSystemOperation,
  'sync' | 'write' | 'truncate' | 'chmod' | 'mkdir' | 'rmdir' | 'unlink' | 'symlink' | 'link' | 'rename'
>;

/** A durability mistake, as data. */
export interface Mutation {
  /** `drop`: the call is not made. `delay`: it is made after the next call that changes something. */
  readonly kind: 'drop' | 'delay';
  readonly operation: MutableOperation;
  /** Only calls whose path or target ends so. */
  readonly pathEnd?: string | undefined;
  /** The call among those that count, from 1; `every` for all of them. */
  readonly nth: number | 'every';
}

/** Makes one durability mistake; everything else passes. A protocol under crash exploration must not survive it. */
export class MutantFileSystem extends ForwardingFileSystem {
  readonly #mutation: Mutation;
  #seen = 0;
  #applied = 0;
  #delayed: (() => unknown) | undefined;

  constructor(inner: FileSystem, mutation: Mutation) {
    super(inner);
    this.#mutation = mutation;
  }

  /** How often the mistake was made; a mutant that never made it proves nothing. */
  get applied(): number {
    return this.#applied;
  }

  protected around<T>(call: FileSystemCall, run: () => T): T {
    if (this.#matches(call)) {
      this.#applied += 1;
      if (this.#mutation.kind === 'delay') this.#delayed = run;
      // Only operations without a result are mutable; `syncLater` awaits `undefined` as well.
      return undefined as T;
    }
    const result = run();
    if (call.changes) this.#release(result);
    return result;
  }

  #release(after: unknown): void {
    const delayed = this.#delayed;
    if (delayed === undefined) return;
    this.#delayed = undefined;
    // A delayed call that fails has simply not taken effect; the protocol was told long ago that it had.
    const perform = (): void => {
      try {
        const late = delayed();
        if (late instanceof Promise) late.catch(() => undefined);
      } catch {
        return;
      }
    };
    if (after instanceof Promise) after.then(perform, perform);
    else perform();
  }

  #matches(call: FileSystemCall): boolean {
    const { operation, pathEnd, nth } = this.#mutation;
    if (call.operation !== operation) return false;
    if (pathEnd !== undefined && !call.path.endsWith(pathEnd) && !(call.target?.endsWith(pathEnd) ?? false)) {
      return false;
    }
    this.#seen += 1;
    return nth === 'every' || this.#seen === nth;
  }
}

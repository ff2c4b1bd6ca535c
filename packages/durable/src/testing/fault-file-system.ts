import { FileSystemError } from '../errors.js';
import type { FileSystem } from '../file-system.js';
import {
  type FileSystemCall,
  type FileSystemOperation,
  ForwardingFileSystem,
} from './forwarding-file-system.js';

/** A failure to come, as data: a failing plan is a regression test. */
export interface Fault {
  /** Which calls count: one operation, every call that changes the disk (syncs included), or every call. */
  readonly operation: FileSystemOperation | 'any-change' | 'any';
  /** Only calls whose path or target ends so. */
  readonly pathEnd?: string | undefined;
  /** The failing call among those that count, from 1. */
  readonly nth: number;
  readonly errno: string;
  /** `once` (default), or this call and every one after it that counts. */
  readonly times?: 'once' | 'forever' | undefined;
  /** `before` (default): no effect. `after`: the call takes effect and its answer is an error. */
  readonly when?: 'before' | 'after' | undefined;
}

/** Fails chosen calls with chosen codes. Everything else passes. */
export class FaultFileSystem extends ForwardingFileSystem {
  readonly #faults: readonly { readonly fault: Fault; seen: number }[];
  #fired = 0;

  constructor(inner: FileSystem, faults: readonly Fault[]) {
    super(inner);
    this.#faults = faults.map((fault) => ({ fault, seen: 0 }));
  }

  /** Number of failures so far. */
  get fired(): number {
    return this.#fired;
  }

  protected around<T>(call: FileSystemCall, run: () => T): T {
    const fault = this.#due(call);
    if (fault === undefined) return run();
    this.#fired += 1;
    const error = new FileSystemError(call.operation, fault.errno, call.path);
    if (fault.when !== 'after') throw error;
    const result = run();
    if (result instanceof Promise) {
      return result.then(() => {
        throw error;
      }) as T;
    }
    throw error;
  }

  #due(call: FileSystemCall): Fault | undefined {
    let due: Fault | undefined;
    for (const state of this.#faults) {
      if (!counts(state.fault, call)) continue;
      state.seen += 1;
      const { nth, times } = state.fault;
      if (state.seen === nth || (state.seen > nth && times === 'forever')) due ??= state.fault;
    }
    return due;
  }
}

function counts(fault: Fault, call: FileSystemCall): boolean {
  const { operation, pathEnd } = fault;
  if (operation === 'any-change' ? !call.changes : operation !== 'any' && operation !== call.operation)
    return false;
  if (pathEnd === undefined) return true;
  return call.path.endsWith(pathEnd) || (call.target?.endsWith(pathEnd) ?? false);
}

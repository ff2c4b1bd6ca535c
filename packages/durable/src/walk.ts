import { compareBytes, concatBytes, encodePathText, throwIfAborted } from '@holdfast/base';

import type { Dir } from './dir.js';
import { FileSystemError } from './errors.js';
import type { Stat } from './file-system.js';
import { breathe, runSteps, runStepsSync, type Steps } from './internal/steps.js';

/** A node met by a walk. Valid during the call it is passed to; `dir` may be retained for longer. */
export interface WalkEntry {
  /** The open directory that holds it. */
  readonly dir: Dir;
  readonly name: Uint8Array;
  /** From `lstat`: advice. What must hold has to be checked on an open handle. */
  readonly stat: Stat;
  /** 0 for what is directly in the root. */
  readonly depth: number;
  /** Path from the root of the walk, components joined by `/`. */
  path(): Uint8Array;
}

export interface WalkVisitor {
  /** Called for every node; `'skip'` for a directory leaves out what is in it. */
  visit(entry: WalkEntry): 'skip' | undefined;
  /** Called with a directory after everything in it. */
  leave?(entry: WalkEntry): void;
  /**
   * Called when a directory was replaced, removed or refused (`EACCES`) between being met and being read; without it
   * the failure is thrown.
   */
  failed?(entry: WalkEntry, error: FileSystemError): void;
}

export interface WalkOptions {
  /** Names of each directory in byte order instead of the disk's; default `false`. */
  readonly sorted?: boolean | undefined;
  /** Directories open at a time, at least 2; default 64. Deeper trees are walked by closing and reopening. */
  readonly maxOpen?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Visits everything below `root`, parents first, without following symlinks and without ever leaving the tree, whatever
 * another process does to it meanwhile. Names that vanish during the walk are left out. Gives the event loop a turn
 * every few milliseconds.
 */
export async function walkTree(root: Dir, visitor: WalkVisitor, options: WalkOptions = {}): Promise<void> {
  await runSteps(walkSteps(root, visitor, options));
}

/** {@link walkTree} without giving up the thread. */
export function walkTreeSync(root: Dir, visitor: WalkVisitor, options: WalkOptions = {}): void {
  runStepsSync(walkSteps(root, visitor, options));
}

/** Asking after the time is cheap, but not as cheap as looking at one more node. */
const nodesBetweenPauses = 32;

/** @internal For recipes that walk. */
export function* walkSteps(root: Dir, visitor: WalkVisitor, options: WalkOptions): Steps<void> {
  throwIfAborted(options.signal);
  const maxOpen = Math.max(2, options.maxOpen ?? 64);
  let met = 0;
  const stack: Frame[] = [new Frame(undefined, undefined, root.retain())];
  try {
    (stack[0] as Frame).read(options.sorted === true);
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      const name = frame.next();
      if (name === undefined) {
        frame.close();
        stack.pop();
        const parent = stack.at(-1);
        if (parent === undefined) return;
        if (!parent.dir.isOpen && !reopen(stack, maxOpen, visitor)) continue;
        visitor.leave?.(frame.entry as WalkEntry);
        continue;
      }
      met += 1;
      if (met % nodesBetweenPauses === 0) yield* breathe(options.signal);
      const stat = frame.dir.lstat(name);
      if (stat === undefined) continue;
      const entry = new Entry(frame, name, stat);
      if (visitor.visit(entry) === 'skip' || stat.kind !== 'directory') continue;
      const child = enter(frame, entry, visitor, options.sorted === true);
      if (child === undefined) continue;
      stack.push(child);
      // The root stays open: it is where reopening starts.
      if (stack.length > maxOpen) stack[stack.length - maxOpen]?.close();
    }
  } finally {
    for (const frame of stack) frame.close();
  }
}

class Frame {
  dir: Dir;
  readonly entry: Entry | undefined;
  /** Of what is in this directory. */
  readonly depth: number;
  #names: Uint8Array[] = [];
  #index = 0;

  constructor(parent: Frame | undefined, entry: Entry | undefined, dir: Dir) {
    this.entry = entry;
    this.depth = parent === undefined ? 0 : parent.depth + 1;
    this.dir = dir;
  }

  read(sorted: boolean): void {
    this.#names = this.dir.list();
    if (sorted) this.#names.sort(compareBytes);
  }

  next(): Uint8Array | undefined {
    const name = this.#names[this.#index];
    this.#index += 1;
    return name;
  }

  close(): void {
    this.dir.close();
  }
}

class Entry implements WalkEntry {
  readonly #frame: Frame;
  readonly name: Uint8Array;
  readonly stat: Stat;

  constructor(frame: Frame, name: Uint8Array, stat: Stat) {
    this.#frame = frame;
    this.name = name;
    this.stat = stat;
  }

  get dir(): Dir {
    return this.#frame.dir;
  }

  get depth(): number {
    return this.#frame.depth;
  }

  path(): Uint8Array {
    const parts: Uint8Array[] = [this.name];
    for (let entry = this.#frame.entry; entry !== undefined; entry = entry.#frame.entry) {
      parts.push(slash, entry.name);
    }
    return concatBytes(parts.reverse());
  }
}

const slash = Uint8Array.of(0x2f);

function enter(frame: Frame, entry: Entry, visitor: WalkVisitor, sorted: boolean): Frame | undefined {
  let dir: Dir | undefined;
  try {
    dir = frame.dir.openDir(entry.name);
    const child = new Frame(frame, entry, dir);
    child.read(sorted);
    return child;
  } catch (error) {
    dir?.close();
    if (!FileSystemError.is(error) || visitor.failed === undefined) throw error;
    visitor.failed(entry, error);
    return undefined;
  }
}

/**
 * Opens the last frame again, from the root down, keeping the deepest ones open. When the way has changed, the frames
 * from there on are dropped; `false` then.
 */
function reopen(stack: Frame[], maxOpen: number, visitor: WalkVisitor): boolean {
  for (let index = 1; index < stack.length; index += 1) {
    const frame = stack[index] as Frame;
    const entry = frame.entry as Entry;
    if (frame.dir.isOpen) continue;
    try {
      const dir = (stack[index - 1] as Frame).dir.openDir(entry.name);
      const { dev, ino } = dir.stat();
      if (ino !== entry.stat.ino || dev !== entry.stat.dev) {
        dir.close();
        throw new FileSystemError('reopen', 'ESTALE', encodePathText(entry.path()));
      }
      frame.dir = dir;
    } catch (error) {
      if (!FileSystemError.is(error) || visitor.failed === undefined) throw error;
      visitor.failed(entry, error);
      for (const lost of stack.splice(index)) lost.close();
      return false;
    }
    if (index >= maxOpen) stack[index - maxOpen + 1]?.close();
  }
  return true;
}

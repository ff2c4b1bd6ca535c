import { equalBytes, quote } from '@holdfast/base';
import type { Dir, Stat } from '@holdfast/durable';

import { WorkspaceRestoreError } from '../errors.js';
import type { NodeState, Operation } from '../operation.js';
import type { StrategyContext } from '../strategy.js';
import { setModeDurably } from './file-mode.js';
import { unlock } from './locked-directories.js';
import { compareKeys, depthOf, parentKey, pathKey } from './path-key.js';
import { shownPath } from './plan-lists.js';
import { isErrno, meansNoLinks, openIfThere, stageName } from './reconcile-names.js';
import { reservedName } from './reserved-name.js';
import { RootWalker } from './root-walker.js';
import { isUntouched } from './signature.js';
import { QuickSyncs } from './sync-pool.js';
import type { ReconcileState, SecuredNode } from './undo-record.js';

// How far a commit came, for an undo in the same process: what was never applied needs nothing back, whatever somebody
// else made of it meanwhile. Another process cannot know, and goes by what it finds.
const reached = new WeakMap<Dir, number>();

/** The number of the last operation that was applied with this `work`; -1 for none, `undefined` when nobody knows. */
export function lastApplied(work: Dir): number | undefined {
  return reached.get(work);
}

/**
 * Pass 2: applies the operations in their order. Every step looks at the node that it takes away and refuses one that is
 * not what pass 1 secured.
 */
export class OperationCommitter {
  readonly #context: StrategyContext;
  readonly #walker: RootWalker;
  readonly #staged: Dir | undefined;
  readonly #state: ReconcileState;
  readonly #secured: ReadonlyMap<number, SecuredNode>;
  /** Directories whose names or mode change, and the mode they end with. */
  readonly #touched = new Map<string, number | undefined>();

  constructor(context: StrategyContext, walker: RootWalker, staged: Dir | undefined, state: ReconcileState) {
    this.#context = context;
    this.#walker = walker;
    this.#staged = staged;
    this.#state = state;
    this.#secured = new Map(state.secured.map((node) => [node.number, node]));
  }

  // 1. Unlock directories that keep their owner out.
  // 2. Unlink, rmdir, mkdir, put, in the order of the operations; modes of files.
  // 3. Modes of directories, deepest first, each with the sync of its names.
  async run(): Promise<void> {
    reached.set(this.#context.work, -1);
    for (const { key, mode } of this.#state.locked) {
      unlock(this.#walker.directory(key));
      this.#touched.set(key, mode);
    }
    for (const operation of this.#context.operations) {
      await this.#apply(operation);
      reached.set(this.#context.work, operation.number);
      await this.#context.pause();
    }
    await this.#finishDirectories();
  }

  async #apply(operation: Operation): Promise<void> {
    const key = pathKey(operation.path);
    if (operation.action === 'chmod' && operation.before?.kind === 'directory') {
      this.#touched.set(key, operation.after?.mode);
      return;
    }
    const { dir, name } = this.#walker.locate(key);
    if (operation.action === 'chmod') {
      this.#chmodFile(operation, dir, name);
      return;
    }
    const parent = parentKey(key);
    if (!this.#touched.has(parent)) this.#touched.set(parent, undefined);
    switch (operation.action) {
      case 'unlink':
        if (this.#expect(operation, dir, name) !== undefined) dir.unlink(name);
        break;
      case 'rmdir':
        this.#rmdir(operation, dir, name);
        this.#walker.forget(key);
        this.#touched.delete(key);
        break;
      case 'mkdir':
        this.#free(operation, () => {
          dir.mkdir(name, 0o700);
        });
        this.#walker.forget(key);
        this.#touched.set(key, operation.after?.mode);
        break;
      case 'put':
        await this.#put(operation, operation.after as NodeState, dir, name);
        break;
    }
  }

  async #put(operation: Operation, after: NodeState, dir: Dir, name: Uint8Array): Promise<void> {
    const standing = this.#expect(operation, dir, name);
    const reserved = reservedName(this.#context.restoreId, operation.number);
    const direct = standing === undefined;
    const place = direct ? name : reserved;
    if (after.kind === 'symlink') {
      this.#free(operation, () => {
        dir.symlink(after.target as Uint8Array, place);
      });
      if (!direct) dir.rename(reserved, dir, name);
      return;
    }
    try {
      this.#free(operation, () => {
        (this.#staged as Dir).link(String(operation.number), dir, place);
      });
      if (!direct) dir.rename(reserved, dir, name);
    } catch (error) {
      if (!meansNoLinks(error)) throw error;
      await this.#copyInto(operation, after, dir, reserved);
      if (direct) this.#refuseIfTaken(operation, dir, name);
      dir.rename(reserved, dir, name);
    }
  }

  /** Without hard links: an exclusive copy in the destination directory, synced before it gets its name. */
  async #copyInto(operation: Operation, after: NodeState, dir: Dir, reserved: string): Promise<void> {
    using from = (this.#staged as Dir).openFile(String(operation.number));
    using copy = dir.createFile(reserved, 0o600);
    copy.copyFrom(from);
    copy.chmod(after.mode);
    // Before it gets its name, whatever is synced later.
    await copy.syncLater();
  }

  #rmdir(operation: Operation, dir: Dir, name: Uint8Array): void {
    const stat = dir.lstat(name);
    const { before } = operation;
    if (
      stat?.kind !== 'directory' ||
      (before?.signature !== undefined && stat.ino !== before.signature.ino)
    ) {
      throw this.#changed(operation, 'the directory was replaced');
    }
    try {
      dir.rmdir(name);
    } catch (error) {
      if (isErrno(error, 'ENOTEMPTY', 'EEXIST'))
        throw this.#changed(operation, 'something appeared in it', error);
      throw error;
    }
  }

  #chmodFile(operation: Operation, dir: Dir, name: Uint8Array): void {
    const mode = (operation.after as NodeState).mode;
    const expected = operation.before?.signature;
    let file: ReturnType<Dir['openFile']> | undefined;
    try {
      file = dir.openFile(name);
    } catch (error) {
      if (!isErrno(error, 'EACCES')) throw error;
    }
    using opened = file;
    const stat = opened?.stat() ?? dir.lstat(name);
    // The mode of an inode with other names is never changed: they may be anywhere.
    if (stat?.kind !== 'file' || stat.nlink > 1 || (expected !== undefined && !isUntouched(stat, expected))) {
      throw this.#changed(operation, 'it changed before its mode was set');
    }
    if (opened !== undefined) {
      opened.chmod(mode);
      if (!this.#atOnce) opened.sync();
    } else if (this.#atOnce) {
      dir.chmodAt(name, mode);
    } else if (!setModeDurably(dir, name, mode, stat)) {
      throw this.#changed(operation, 'it changed while its mode was set');
    }
  }

  /** What stands at the operation's path, checked against what was secured; `undefined` when nothing should. */
  #expect(operation: Operation, dir: Dir, name: Uint8Array): Stat | undefined {
    const node = this.#secured.get(operation.number);
    if (node === undefined || node.how === 'absent') return undefined;
    const stat = dir.lstat(name);
    const untouched =
      stat !== undefined &&
      node.signature !== undefined &&
      isUntouched(stat, node.signature, node.soleName) &&
      (node.target === undefined || equalBytes(dir.readlink(name), node.target));
    if (!untouched) throw this.#changed(operation, 'it changed after its undo was secured');
    return stat;
  }

  #refuseIfTaken(operation: Operation, dir: Dir, name: Uint8Array): void {
    if (dir.lstat(name) !== undefined) throw this.#changed(operation, 'something appeared there');
  }

  #free(operation: Operation, create: () => void): void {
    try {
      create();
    } catch (error) {
      if (isErrno(error, 'EEXIST')) throw this.#changed(operation, 'something appeared there', error);
      throw error;
    }
  }

  #changed(operation: Operation, detail: string, cause?: unknown): WorkspaceRestoreError {
    const shown = shownPath(operation.path);
    return new WorkspaceRestoreError('concurrent-change', `${quote(shown)}: ${detail}`, {
      paths: [shown],
      cause,
    });
  }

  async #finishDirectories(): Promise<void> {
    const deepestFirst = [...this.#touched].sort(([a], [b]) => depthOf(b) - depthOf(a) || compareKeys(a, b));
    const syncs = new QuickSyncs(this.#context);
    for (const [key, mode] of deepestFirst) {
      const dir = this.#walker.directory(key);
      if (mode !== undefined) dir.chmod(mode);
      if (!this.#atOnce) await syncs.add(dir);
      await this.#context.pause();
    }
    await syncs.finish();
    if (this.#atOnce) await this.#context.wholeSync?.sync();
  }

  /** Whether one sync at the end stands for all. */
  get #atOnce(): boolean {
    const { wholeSync, operations } = this.#context;
    return wholeSync !== undefined && operations.length >= wholeSync.from;
  }
}

/** Brings the root to the new tree; everything that it changed is durable when this resolves. */
export async function commitOperations(
  context: StrategyContext,
  root: Dir,
  state: ReconcileState,
): Promise<void> {
  using staged = openIfThere(context.work, stageName);
  using walker = new RootWalker(root);
  await new OperationCommitter(context, walker, staged, state).run();
}

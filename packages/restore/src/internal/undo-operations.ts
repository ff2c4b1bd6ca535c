import type { Dir } from '@holdfast/durable';

import { UndoTaintedError, WorkspaceRestoreError } from '../errors.js';
import type { Operation } from '../operation.js';
import type { StrategyContext } from '../strategy.js';
import { lastApplied } from './commit-operations.js';
import { setModeDurably } from './file-mode.js';
import { canUnlock, unlock, unlockedMode } from './locked-directories.js';
import { NodeRecognizer, type Standing } from './node-recognizer.js';
import { compareKeys, depthOf, parentKey, pathKey } from './path-key.js';
import { shownPath } from './plan-lists.js';
import { isErrno, meansNoLinks, openIfThere, stageName, undoName } from './reconcile-names.js';
import { reservedName } from './reserved-name.js';
import { RootWalker } from './root-walker.js';
import type { ReconcileState, SecuredNode } from './undo-record.js';

/**
 * Brings a root back to the old tree from any mixture of old and new. Decides by what stands at each path: the old node,
 * the new one, nothing, or something else; so it may be cut off and run again.
 */
export class OperationUndoer {
  readonly #context: StrategyContext;
  readonly #root: Dir;
  readonly #walker: RootWalker;
  readonly #undo: Dir | undefined;
  readonly #recognizer: NodeRecognizer;
  readonly #secured: ReadonlyMap<number, SecuredNode>;
  readonly #made: ReadonlySet<string>;
  /** Modes that directories get at the end. */
  readonly #modes = new Map<string, number>();

  constructor(
    context: StrategyContext,
    root: Dir,
    dirs: { undo: Dir | undefined; staged: Dir | undefined },
    state: ReconcileState,
  ) {
    this.#context = context;
    this.#root = root;
    this.#undo = dirs.undo;
    this.#recognizer = new NodeRecognizer(dirs.staged, () => context.pause());
    this.#secured = new Map(state.secured.map((node) => [node.number, node]));
    this.#made = new Set(context.operations.filter((o) => o.action === 'mkdir').map((o) => pathKey(o.path)));
    for (const { key, mode } of state.locked) this.#modes.set(key, mode);
    for (const { action, path, before } of context.operations) {
      if (before?.kind === 'directory' && (action === 'chmod' || action === 'rmdir')) {
        this.#modes.set(pathKey(path), before.mode);
      }
    }
    this.#walker = new RootWalker(root, (key, stat, chmod) => {
      if (!canUnlock(stat)) return;
      if (!this.#modes.has(key)) this.#modes.set(key, stat.mode & 0o7777);
      chmod(unlockedMode(stat.mode));
    });
  }

  // 1. Find what has to come back, and prove its undo copy; refuse before anything changes.
  // 2. Undo the operations in reverse.
  // 3. Give directories their modes and sync their names, deepest first.
  async run(): Promise<void> {
    const rootStat = this.#root.stat();
    if (canUnlock(rootStat)) {
      if (!this.#modes.has('')) this.#modes.set('', rootStat.mode & 0o7777);
      unlock(this.#root);
    }
    try {
      await this.#refuseUnlessPossible();
      for (const operation of [...this.#context.operations].reverse()) {
        await this.#undoOne(operation);
        await this.#context.pause();
      }
    } finally {
      await this.#finishDirectories();
    }
  }

  close(): void {
    this.#walker.close();
  }

  async #refuseUnlessPossible(): Promise<void> {
    const blocked: string[] = [];
    for (const operation of this.#context.operations) {
      await this.#context.pause();
      const node = this.#secured.get(operation.number);
      const verdict = await this.#judge(operation, node);
      if (verdict === 'foreign' && this.#wasApplied(operation)) blocked.push(shownPath(operation.path));
      if (verdict === 'restore' && node !== undefined) await this.#prove(operation, node);
    }
    if (blocked.length === 0) return;
    throw new WorkspaceRestoreError(
      'concurrent-change',
      `something else stands where the old tree has to come back: ${blocked.slice(0, 5).join(', ')}`,
      { paths: blocked },
    );
  }

  /** What the path of an operation that took something away needs. */
  async #judge(
    operation: Operation,
    node: SecuredNode | undefined,
  ): Promise<'nothing' | 'restore' | 'foreign'> {
    const { action } = operation;
    if (action === 'chmod' || action === 'mkdir') return 'nothing';
    const key = pathKey(operation.path);
    const standing = this.#look(key);
    if (action === 'rmdir') {
      if (standing === undefined || standing.stat.kind === 'directory') return 'nothing';
      return (await this.#isPut(key, standing)) ? 'nothing' : 'foreign';
    }
    if (node === undefined || node.how === 'absent') return 'nothing';
    if (standing === undefined) return 'restore';
    if (await this.#recognizer.isOld(standing, operation, node)) return 'nothing';
    const isOurs =
      action === 'put'
        ? await this.#recognizer.isNew(standing, operation)
        : this.#made.has(key) && standing.stat.kind === 'directory';
    return isOurs ? 'restore' : 'foreign';
  }

  #wasApplied({ number }: Operation): boolean {
    const last = lastApplied(this.#context.work);
    return last === undefined || number <= last;
  }

  async #isPut(key: string, standing: Standing): Promise<boolean> {
    for (const operation of this.#context.operations) {
      if (operation.action === 'put' && pathKey(operation.path) === key) {
        return await this.#recognizer.isNew(standing, operation);
      }
    }
    return false;
  }

  /** @throws UndoTaintedError unless the undo copy is what was secured. */
  async #prove(operation: Operation, node: SecuredNode): Promise<void> {
    if (node.how === 'text') return;
    const name = Buffer.from(String(node.number));
    const stat = this.#undo?.lstat(name);
    if (this.#undo === undefined || stat === undefined) {
      throw new UndoTaintedError(shownPath(operation.path), 'missing');
    }
    const proven = await this.#recognizer.isProven({ stat, dir: this.#undo, name }, operation, node);
    if (!proven) throw new UndoTaintedError(shownPath(operation.path), 'changed');
  }

  async #undoOne(operation: Operation): Promise<void> {
    const key = pathKey(operation.path);
    if (key === '') return;
    switch (operation.action) {
      case 'chmod':
        this.#undoChmod(operation, key);
        return;
      case 'put':
        await this.#undoPut(operation, key);
        return;
      case 'mkdir':
        this.#undoMkdir(key);
        return;
      case 'rmdir': {
        if (this.#look(key) !== undefined) return;
        const { dir, name } = this.#walker.locate(key);
        dir.mkdir(name, 0o700);
        this.#walker.forget(key);
        return;
      }
      case 'unlink': {
        this.#removeReserved(operation, key);
        const node = this.#secured.get(operation.number);
        if (node === undefined || (await this.#judge(operation, node)) !== 'restore') return;
        await this.#bringBack(operation, node, key);
        return;
      }
    }
  }

  /** An earlier attempt may have left the reserved name of an operation. */
  #removeReserved(operation: Operation, key: string): void {
    const parent = this.#look(parentKey(key));
    if (parent?.stat.kind !== 'directory') return;
    const { dir } = this.#walker.locate(key);
    const reserved = reservedName(this.#context.restoreId, operation.number);
    const leftover = dir.lstat(reserved);
    if (leftover !== undefined && leftover.kind !== 'directory') dir.unlink(reserved);
  }

  async #undoPut(operation: Operation, key: string): Promise<void> {
    this.#removeReserved(operation, key);
    const node = this.#secured.get(operation.number);
    if (node !== undefined && node.how !== 'absent') {
      if ((await this.#judge(operation, node)) === 'restore') await this.#bringBack(operation, node, key);
      return;
    }
    const standing = this.#look(key);
    if (standing === undefined || !(await this.#recognizer.isNew(standing, operation))) return;
    standing.dir.unlink(standing.name);
  }

  /** Puts the old node under a reserved name and renames it over whatever of ours stands there. */
  async #bringBack(operation: Operation, node: SecuredNode, key: string): Promise<void> {
    const reserved = reservedName(this.#context.restoreId, operation.number);
    const { dir, name } = this.#walker.locate(key);
    if (node.how === 'text') dir.symlink(node.target as Uint8Array, reserved);
    else await this.#placeCopy(node, dir, reserved);
    dir.rename(reserved, dir, name);
  }

  async #placeCopy(node: SecuredNode, dir: Dir, reserved: string): Promise<void> {
    const undo = this.#undo as Dir;
    if (node.how === 'link') {
      try {
        undo.link(String(node.number), dir, reserved);
        return;
      } catch (error) {
        if (!meansNoLinks(error)) throw error;
      }
    }
    using from = undo.openFile(String(node.number));
    using copy = dir.createFile(reserved, 0o600);
    copy.copyFrom(from);
    copy.chmod((node.signature?.mode ?? 0o600) & 0o7777);
    await copy.syncLater();
  }

  #undoMkdir(key: string): void {
    if (this.#look(key)?.stat.kind !== 'directory') return;
    const { dir, name } = this.#walker.locate(key);
    this.#walker.forget(key);
    try {
      dir.rmdir(name);
      this.#modes.delete(key);
    } catch (error) {
      // Somebody put something there: it is theirs, and it is in nobody's way unless something has to come back here.
      if (!isErrno(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    }
  }

  #undoChmod(operation: Operation, key: string): void {
    const { before } = operation;
    if (before === undefined || before.kind === 'directory') return;
    const standing = this.#look(key);
    if (standing?.stat.kind !== before.kind || standing.stat.ino !== before.signature?.ino) return;
    const { dir, name, stat } = standing;
    if (!this.#atOnce) setModeDurably(dir, name, before.mode, stat);
    else if ((stat.mode & 0o7777) !== before.mode) dir.chmodAt(name, before.mode);
  }

  #look(key: string): Standing | undefined {
    if (key === '') return { stat: this.#root.stat(), dir: this.#root, name: new Uint8Array() };
    const stat = this.#walker.look(key);
    return stat === undefined ? undefined : { stat, ...this.#walker.locate(key) };
  }

  async #finishDirectories(): Promise<void> {
    const keys = new Set(this.#modes.keys());
    for (const { path } of this.#context.operations) if (path.length > 0) keys.add(parentKey(pathKey(path)));
    const deepestFirst = [...keys].sort((a, b) => depthOf(b) - depthOf(a) || compareKeys(a, b));
    for (const key of deepestFirst) {
      await this.#context.pause();
      if (this.#look(key)?.stat.kind !== 'directory') continue;
      const dir = this.#walker.directory(key);
      const mode = this.#modes.get(key);
      if (mode !== undefined && (dir.stat().mode & 0o7777) !== mode) dir.chmod(mode);
      if (!this.#atOnce) await dir.syncLater();
    }
    if (this.#atOnce) await this.#context.wholeSync?.sync();
  }

  /** Whether one sync at the end stands for all. */
  get #atOnce(): boolean {
    const { wholeSync, operations } = this.#context;
    return wholeSync !== undefined && operations.length >= wholeSync.from;
  }
}

/** Brings the root back to the old tree, durably. */
export async function undoOperations(
  context: StrategyContext,
  root: Dir,
  state: ReconcileState,
): Promise<void> {
  using undo = openIfThere(context.work, undoName);
  using staged = openIfThere(context.work, stageName);
  const undoer = new OperationUndoer(context, root, { undo, staged }, state);
  try {
    await undoer.run();
  } finally {
    undoer.close();
  }
}

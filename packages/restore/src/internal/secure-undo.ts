import { equalBytes, quote } from '@holdfast/base';
import type { Dir, Stat } from '@holdfast/durable';

import { WorkspaceRestoreError } from '../errors.js';
import type { BeforeState, Operation } from '../operation.js';
import type { PreparationContext } from '../strategy.js';
import { contentKeyOf } from './content-key.js';
import { findLocked } from './locked-directories.js';
import { isWithin, parentKey, pathKey } from './path-key.js';
import { shownPath } from './plan-lists.js';
import { isErrno, meansNoLinks, stageName, undoName } from './reconcile-names.js';
import { RootWalker } from './root-walker.js';
import { isRecent, isUntouched, signatureOf } from './signature.js';
import { canBeOpened } from './stage-files.js';
import { SyncPool } from './sync-pool.js';
import { recentlyKept, syncKept } from './sync-recent.js';
import type { ReconcileState, SecuredNode } from './undo-record.js';

interface Found {
  readonly operation: Operation;
  readonly stat: Stat | undefined;
  /** What stands there is not what the plan says, and will be replaced all the same. */
  readonly overwritten: boolean;
}

/**
 * Pass 1: makes it possible to bring back everything that pass 2 will take away. Changes nothing that the root shows.
 */
export class UndoSecurer {
  readonly #context: PreparationContext;
  readonly #walker: RootWalker;
  readonly #undo: Dir;
  readonly #vacated = new Set<string>();
  readonly #made = new Set<string>();
  readonly #removed: string[] = [];
  #noLinks = false;

  constructor(context: PreparationContext, walker: RootWalker, undo: Dir) {
    this.#context = context;
    this.#walker = walker;
    this.#undo = undo;
    for (const { action, path } of context.operations) {
      const key = pathKey(path);
      if (action === 'unlink' || action === 'rmdir') this.#vacated.add(key);
      if (action === 'mkdir') this.#made.add(key);
      if (action === 'rmdir') this.#removed.push(key);
    }
  }

  // 1. Compare every path with what the plan found.
  // 2. Secure what will go: a second name of the inode, else its bytes; symlinks as text.
  // 3. Sync what was staged, and what is so young that its bytes may still be in memory, of the copies and of what is kept;
  //    the directory of the copies, and its name. Names of staged content need no sync: after a crash nothing is put into the
  //    root any more, and what already is there is recognised by its content.
  // 4. Note how each secured node looks now: linking moved its change time.
  async run(): Promise<ReconcileState> {
    const found: Found[] = [];
    for (const operation of this.#context.operations) {
      const checked = this.#check(operation);
      if (checked !== undefined) found.push(checked);
      await this.#context.pause();
    }
    const secured: SecuredNode[] = [];
    for (const item of found) {
      secured.push(await this.#secure(item));
      await this.#context.pause();
    }
    await this.#syncAll(secured);
    const signed: SecuredNode[] = [];
    for (const [index, node] of secured.entries()) {
      signed.push(this.#sign(node, found[index] as Found));
      await this.#context.pause();
    }
    if (this.#noLinks) {
      this.#context.note({
        kind: 'no-hard-links',
        detail: 'undo copies hold bytes, not second names of the old files',
      });
    }
    return { secured: signed, locked: await findLocked(this.#context, this.#walker, this.#made) };
  }

  #check(operation: Operation): Found | undefined {
    const { action, before } = operation;
    const key = pathKey(operation.path);
    if (key === '') return undefined;
    if (this.#made.has(parentKey(key))) return undefined;
    // Refuses here what would lead out of the root later.
    this.#walker.directory(parentKey(key));
    const stat = this.#walker.look(key);
    if (action === 'chmod') {
      if (!isAsPlanned(stat, before)) {
        this.#conflict(operation, stat);
        if (stat?.kind !== before?.kind)
          throw this.#refusal(operation, 'a mode can only be set on what was there');
      }
      return undefined;
    }
    if (action === 'mkdir' || before === undefined) {
      if (stat === undefined || this.#vacated.has(key)) return undefined;
      if (action === 'mkdir') throw this.#refusal(operation, `a ${stat.kind} appeared there`);
      return this.#surprise(operation, stat);
    }
    if (isAsPlanned(stat, before) && this.#isSameLink(key, before)) {
      return action === 'rmdir' ? undefined : { operation, stat, overwritten: false };
    }
    if (action === 'rmdir') throw this.#refusal(operation, 'the directory was replaced');
    return this.#surprise(operation, stat);
  }

  #isSameLink(key: string, before: BeforeState): boolean {
    if (before.kind !== 'symlink' || before.target === undefined) return true;
    const { dir, name } = this.#walker.locate(key);
    return equalBytes(dir.readlink(name), before.target);
  }

  #surprise(operation: Operation, stat: Stat | undefined): Found | undefined {
    const key = pathKey(operation.path);
    const shared = this.#made.has(key) || this.#removed.some((removed) => isWithin(key, removed));
    if (stat?.kind === 'directory') throw this.#refusal(operation, 'a directory appeared there');
    if (this.#conflict(operation, stat) === 'overwrite') return { operation, stat, overwritten: true };
    if (shared) throw this.#refusal(operation, 'it cannot be skipped because its directory changes');
    return undefined;
  }

  #conflict(operation: Operation, stat: Stat | undefined): 'skip' | 'overwrite' {
    return this.#context.conflict(
      operation,
      stat === undefined ? 'it is gone' : `it is a ${stat.kind} that was changed`,
    );
  }

  #refusal(operation: Operation, detail: string): WorkspaceRestoreError {
    const shown = shownPath(operation.path);
    return new WorkspaceRestoreError('concurrent-change', `${quote(shown)}: ${detail}; plan again`, {
      paths: [shown],
    });
  }

  async #secure({ operation, stat, overwritten }: Found): Promise<SecuredNode> {
    const { number, before } = operation;
    if (stat === undefined) return { number, how: 'absent', soleName: true };
    const { dir, name } = this.#walker.locate(pathKey(operation.path));
    const soleName = stat.nlink === 1;
    if (stat.kind === 'symlink') return { number, how: 'text', soleName, target: dir.readlink(name) };
    const how = await this.#copy(dir, name, stat, number);
    const content = overwritten ? await this.#digest(number) : before?.content;
    return { number, how, soleName, content };
  }

  async #copy(dir: Dir, name: Uint8Array, stat: Stat, number: number): Promise<'link' | 'copy'> {
    if (!this.#noLinks) {
      try {
        dir.link(name, this.#undo, String(number));
        return 'link';
      } catch (error) {
        if (!meansNoLinks(error) || stat.kind !== 'file') throw error;
        this.#noLinks = isErrno(error, 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS');
      }
    }
    using from = dir.openFile(name);
    using copy = this.#undo.createFile(String(number), 0o600);
    copy.copyFrom(from);
    copy.chmod(stat.mode & 0o7777);
    await copy.syncLater();
    this.#context.note({
      kind: 'no-hard-links',
      detail: 'undo copies hold bytes, not second names of the old files',
    });
    return 'copy';
  }

  async #digest(number: number): Promise<SecuredNode['content']> {
    using copy = this.#undo.openFile(String(number));
    if (copy.stat().kind !== 'file') return undefined;
    return (await contentKeyOf(copy, () => this.#context.pause())).key;
  }

  async #syncAll(secured: readonly SecuredNode[]): Promise<void> {
    const { wholeSync, work } = this.#context;
    const staged = this.#stagedNumbers();
    const young = this.#youngCopies(secured);
    const mine = staged.length + young.length;
    const kept = recentlyKept(this.#context, wholeSync === undefined ? undefined : wholeSync.from - mine);
    if (wholeSync !== undefined && mine + kept.length >= wholeSync.from) {
      await wholeSync.sync();
      return;
    }
    const syncs = new SyncPool();
    try {
      await syncs.add(() => work.syncLater());
      using stage = work.openDir(stageName);
      for (const number of staged) await syncAgain(syncs, stage, number);
      for (const number of young) await syncAgain(syncs, this.#undo, number);
    } finally {
      await syncs.finish();
    }
    await syncKept(this.#context, this.#walker, kept);
    await this.#undo.syncLater();
  }

  /** Files that staging left to be synced here. */
  #stagedNumbers(): readonly number[] {
    return this.#context.operations
      .filter(({ action, after }) => action === 'put' && after?.kind === 'file' && canBeOpened(after.mode))
      .map(({ number }) => number);
  }

  /** Copies that are second names of files somebody wrote a moment ago. */
  #youngCopies(secured: readonly SecuredNode[]): readonly number[] {
    const now = this.#context.clock.now();
    return secured
      .filter(({ number, how }) => {
        const stat = how === 'link' ? this.#undo.lstat(String(number)) : undefined;
        return stat?.kind === 'file' && isRecent(stat, now);
      })
      .map(({ number }) => number);
  }

  #sign(node: SecuredNode, { operation, stat }: Found): SecuredNode {
    if (node.how === 'absent' || stat === undefined) return node;
    const now = this.#walker.look(pathKey(operation.path));
    const before = signatureOf(stat);
    if (now === undefined || !isUntouched(now, before, node.how !== 'link' && node.soleName)) {
      throw this.#refusal(operation, 'it changed while its undo was secured');
    }
    return { ...node, signature: signatureOf(now) };
  }
}

async function syncAgain(syncs: SyncPool, dir: Dir, number: number): Promise<void> {
  try {
    using file = dir.openFile(String(number));
    await syncs.add(() => file.syncLater());
  } catch (error) {
    // Unreadable for its owner: nobody can sync it, and nobody could have read it into a checkpoint either.
    if (!isErrno(error, 'EACCES')) throw error;
  }
}

function isAsPlanned(stat: Stat | undefined, before: BeforeState | undefined): boolean {
  if (stat === undefined || before === undefined) return false;
  if (before.signature !== undefined) return isUntouched(stat, before.signature);
  return stat.kind === before.kind;
}

/** Secures everything that the operations of `context` will take away. */
export async function secureUndo(context: PreparationContext): Promise<ReconcileState> {
  using undo = context.work.openDir(undoName);
  using walker = new RootWalker(context.root);
  return await new UndoSecurer(context, walker, undo).run();
}

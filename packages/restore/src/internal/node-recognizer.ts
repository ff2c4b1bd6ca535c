import { equalBytes } from '@holdfast/base';
import type { Dir, Stat } from '@holdfast/durable';

import type { NodeState, Operation } from '../operation.js';
import { contentKeyOf } from './content-key.js';
import { isErrno } from './reconcile-names.js';
import type { SecuredNode } from './undo-record.js';

/** A node as undo meets it. */
export interface Standing {
  readonly stat: Stat;
  readonly dir: Dir;
  readonly name: Uint8Array;
}

/**
 * Tells the old node of a path, the new one, and anything else apart: by inode where a second name keeps the inode alive,
 * by content where bytes were copied or where inode numbers do not last.
 */
export class NodeRecognizer {
  readonly #staged: Dir | undefined;
  readonly #pause: () => Promise<void>;

  constructor(staged: Dir | undefined, pause: () => Promise<void>) {
    this.#staged = staged;
    this.#pause = pause;
  }

  async isOld(standing: Standing, operation: Operation, node: SecuredNode): Promise<boolean> {
    const { stat, dir, name } = standing;
    if (node.how === 'text')
      return stat.kind === 'symlink' && equalBytes(dir.readlink(name), node.target ?? empty);
    const { signature } = node;
    if (signature === undefined || stat.kind !== signature.kind) return false;
    const sameInode = stat.ino === signature.ino;
    if (node.how === 'link' && sameInode) return true;
    if (stat.kind !== 'file' || stat.size !== signature.size) return false;
    if ((stat.mode & 0o7777) !== (signature.mode & 0o7777)) return false;
    const content = node.content ?? operation.before?.content;
    // Bytes that no checkpoint holds have no digest: what is left is that nobody touched them.
    if (content === undefined) return sameInode && stat.mtimeNs === signature.mtimeNs;
    return await this.#hasContent(standing, content, () => sameInode && stat.mtimeNs === signature.mtimeNs);
  }

  /** Whether an undo copy still is what was secured. */
  async isProven(copy: Standing, operation: Operation, node: SecuredNode): Promise<boolean> {
    const { stat } = copy;
    const { signature } = node;
    if (signature === undefined || stat.kind !== signature.kind || stat.size !== signature.size) return false;
    const untouched = (): boolean =>
      node.how === 'copy' || (stat.ino === signature.ino && stat.mtimeNs === signature.mtimeNs);
    if (stat.kind !== 'file') return stat.ino === signature.ino;
    const content = node.content ?? operation.before?.content;
    return content === undefined ? untouched() : await this.#hasContent(copy, content, untouched);
  }

  async isNew(standing: Standing, operation: Operation): Promise<boolean> {
    const { stat, dir, name } = standing;
    const after = operation.after as NodeState;
    if (stat.kind !== after.kind) return false;
    if (after.kind === 'symlink') return equalBytes(dir.readlink(name), after.target ?? empty);
    const staged = this.#staged?.lstat(String(operation.number));
    if (staged !== undefined && staged.ino === stat.ino) return true;
    if (stat.kind !== 'file' || stat.size !== after.size || (stat.mode & 0o777) !== (after.mode & 0o777))
      return false;
    // What its mode keeps even its owner from reading cannot be told by content.
    const unreadable = (): boolean => (after.mode & 0o400) === 0;
    return after.content !== undefined && (await this.#hasContent(standing, after.content, unreadable));
  }

  async #hasContent(standing: Standing, content: string, unreadable: () => boolean): Promise<boolean> {
    try {
      using file = standing.dir.openFile(standing.name);
      if (file.stat().ino !== standing.stat.ino || file.stat().kind !== 'file') return false;
      return (await contentKeyOf(file, this.#pause)).key === content;
    } catch (error) {
      if (isErrno(error, 'EACCES')) return unreadable();
      if (isErrno(error, 'ENOENT', 'ELOOP')) return false;
      throw error;
    }
  }
}

const empty = new Uint8Array();

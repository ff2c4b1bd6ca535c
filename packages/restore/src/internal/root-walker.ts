import { type Dir, FileSystemError, type Stat } from '@holdfast/durable';

import { WorkspaceRestoreError } from '../errors.js';
import { baseKey, keyPath, parentKey } from './path-key.js';
import { shownPath } from './plan-lists.js';

interface Step {
  readonly key: string;
  readonly dir: Dir;
}

/** Makes a directory usable that its mode keeps its owner out of; `undefined` leaves it as it is. */
export type Unlock = (key: string, stat: Stat, chmod: (mode: number) => void) => void;

/**
 * Opens directories below a root one component at a time, so that no symlink is ever followed. Keeps the way to the last
 * directory open: neighbours cost nothing. A directory it returns is borrowed until the next call.
 */
export class RootWalker implements Disposable {
  readonly #root: Dir;
  readonly #way: Step[] = [];
  readonly #unlock: Unlock | undefined;

  constructor(root: Dir, unlock?: Unlock) {
    this.#root = root;
    this.#unlock = unlock;
  }

  /**
   * Opens the directory with this key.
   * @throws WorkspaceRestoreError `symlink-component` when a component is a symlink, `concurrent-change` when one is
   * missing or no directory.
   */
  directory(key: string): Dir {
    while (this.#way.length > 0) {
      const last = this.#way[this.#way.length - 1] as Step;
      if (key === last.key || key.startsWith(`${last.key}/`)) break;
      this.#way.pop();
      last.dir.close();
    }
    let last = this.#way[this.#way.length - 1];
    let dir = last?.dir ?? this.#root;
    let reached = last?.key ?? '';
    while (reached !== key) {
      const rest = reached === '' ? key : key.slice(reached.length + 1);
      const slash = rest.indexOf('/');
      const name = slash < 0 ? rest : rest.slice(0, slash);
      reached = reached === '' ? name : `${reached}/${name}`;
      dir = this.#open(dir, reached);
      last = { key: reached, dir };
      this.#way.push(last);
    }
    return dir;
  }

  /** The directory that holds `key`, and the name of it there. */
  locate(key: string): { readonly dir: Dir; readonly name: Uint8Array } {
    return { dir: this.directory(parentKey(key)), name: keyPath(baseKey(key)) };
  }

  /** What stands at `key`, without following; `undefined` when nothing does, or when nothing can. */
  look(key: string): Stat | undefined {
    try {
      const { dir, name } = this.locate(key);
      return dir.lstat(name);
    } catch (error) {
      // Whatever is not a directory has nothing below it.
      if (WorkspaceRestoreError.is(error)) return undefined;
      throw error;
    }
  }

  /** Forgets a directory that was removed or replaced. */
  forget(key: string): void {
    const from = this.#way.findIndex((step) => step.key === key || step.key.startsWith(`${key}/`));
    if (from >= 0) for (const step of this.#way.splice(from)) step.dir.close();
  }

  close(): void {
    for (const step of this.#way.splice(0)) step.dir.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #open(dir: Dir, key: string): Dir {
    const name = keyPath(baseKey(key));
    const stat = this.#unlock === undefined ? undefined : dir.lstat(name);
    if (stat?.kind === 'directory') {
      this.#unlock?.(key, stat, (mode) => {
        dir.chmodAt(name, mode);
      });
    }
    try {
      return dir.openDir(name);
    } catch (error) {
      throw explainOpen(error, dir, name, key);
    }
  }
}

function explainOpen(error: unknown, dir: Dir, name: Uint8Array, key: string): unknown {
  if (!FileSystemError.is(error) || !['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.errno)) return error;
  const shown = shownPath(keyPath(key));
  const kind = dir.lstat(name)?.kind;
  const facts = { paths: [shown], cause: error };
  if (kind === 'symlink') {
    return new WorkspaceRestoreError(
      'symlink-component',
      `${JSON.stringify(shown)} is a symlink where a directory was`,
      facts,
    );
  }
  const found = kind === undefined ? 'gone' : `now a ${kind}`;
  return new WorkspaceRestoreError(
    'concurrent-change',
    `directory ${JSON.stringify(shown)} is ${found}`,
    facts,
  );
}

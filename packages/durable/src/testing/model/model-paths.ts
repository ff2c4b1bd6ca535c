import { encodePathText } from '@holdfast/base';

import { pathComponents } from '../../absolute-path.js';
import { FileSystemError } from '../../errors.js';
import { type ModelState, rootInode } from './model-state.js';
import { type DirectoryNode, nameFromKey, nameKey } from './nodes.js';

/** A name in a directory, and what it holds. */
export interface Located {
  readonly directory: DirectoryNode;
  readonly name: string;
  readonly inode: number | undefined;
  readonly path: string;
  failure(errno: string): FileSystemError;
}

const maxLinks = 40;

/** Looks up absolute paths as the kernel does: symlinks are followed, except where the caller says. */
export class PathLookup {
  readonly #state: ModelState;

  constructor(state: ModelState) {
    this.#state = state;
  }

  /** Follows everything but the last component. */
  parent(operation: string, path: Uint8Array): Located {
    const text = encodePathText(path);
    const failure = (errno: string): FileSystemError => new FileSystemError(operation, errno, text);
    const components = pathComponents(path).map(nameKey);
    const last = components.pop();
    const root = this.#state.node(rootInode) as DirectoryNode;
    if (last === undefined) return { directory: root, name: '', inode: rootInode, path: '/', failure };
    const names = this.#resolve(components, failure);
    const directory = this.#directory(names, failure);
    return { directory, name: last, inode: directory.entries.get(last), path: text, failure };
  }

  canonical(path: Uint8Array): Uint8Array {
    const failure = (errno: string): FileSystemError =>
      new FileSystemError('realpath', errno, encodePathText(path));
    const names = this.#resolve(pathComponents(path).map(nameKey), failure);
    return nameFromKey(`/${names.join('/')}`);
  }

  /** Components without symlinks, all of which exist. */
  #resolve(components: readonly string[], failure: (errno: string) => FileSystemError): string[] {
    const resolved: string[] = [];
    const rest = [...components];
    let links = 0;
    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      if (name === '.') continue;
      if (name === '..') {
        resolved.pop();
        continue;
      }
      const inode = this.#directory(resolved, failure).entries.get(name);
      if (inode === undefined) throw failure('ENOENT');
      const node = this.#state.node(inode);
      if (node.kind !== 'symlink') {
        resolved.push(name);
        continue;
      }
      links += 1;
      if (links > maxLinks) throw failure('ELOOP');
      const target = nameKey(node.target);
      if (target.startsWith('/')) resolved.length = 0;
      rest.unshift(...pathComponents(node.target).map(nameKey));
    }
    return resolved;
  }

  #directory(names: readonly string[], failure: (errno: string) => FileSystemError): DirectoryNode {
    let node = this.#state.node(rootInode);
    for (const name of names) {
      if (node.kind !== 'directory') throw failure('ENOTDIR');
      node = this.#state.node(node.entries.get(name) as number);
    }
    if (node.kind !== 'directory') throw failure('ENOTDIR');
    return node;
  }
}

import { FileContent } from './file-content.js';
import { changeableEntries, type DirectoryNode, type ModelNode, type Owner, ownedCopy } from './nodes.js';

export const rootInode = 1;

/**
 * The nodes of a model file system. Copying it is one copy of a map: nodes are shared and copied when they are changed.
 */
export class ModelState {
  readonly nodes: Map<number, ModelNode>;
  nextInode: number;
  /** Counts changes; serves as the clock as well. */
  tick: number;
  #owner: Owner = {};

  constructor(nodes: Map<number, ModelNode>, nextInode: number, tick: number) {
    this.nodes = nodes;
    this.nextInode = nextInode;
    this.tick = tick;
  }

  static empty(): ModelState {
    const state = new ModelState(new Map(), rootInode, 0);
    state.addDirectory(0o755, rootInode).nlink = 1;
    return state;
  }

  /** An independent state that is equal to this one now. */
  fork(): ModelState {
    // From now on neither side owns the nodes that both see.
    this.#owner = {};
    return new ModelState(new Map(this.nodes), this.nextInode, this.tick);
  }

  get owner(): Owner {
    return this.#owner;
  }

  node(inode: number): ModelNode {
    return this.nodes.get(inode) as ModelNode;
  }

  /** The node, safe to change. */
  own<N extends ModelNode>(node: N): N {
    // Looked up again: the caller's object may be from before another change of the same node.
    const current = this.nodes.get(node.ino) as N;
    if (current.owner === this.#owner) {
      current.key = undefined;
      return current;
    }
    const copy = ownedCopy(current, this.#owner);
    this.nodes.set(copy.ino, copy);
    return copy;
  }

  addDirectory(mode: number, parent: number): DirectoryNode {
    const entries = new Map<string, number>();
    const node: DirectoryNode = {
      ...this.#base(mode),
      kind: 'directory',
      parent,
      entries,
      entriesOwned: true,
      durable: new Map(),
      pending: [],
    };
    this.nodes.set(node.ino, node);
    return node;
  }

  addFile(mode: number): ModelNode {
    return this.#add({
      ...this.#base(mode),
      kind: 'file',
      content: FileContent.durable(undefined, this.#owner),
    });
  }

  addSymlink(target: Uint8Array): ModelNode {
    return this.#add({ ...this.#base(0o777), kind: 'symlink', target: target.slice() });
  }

  addSpecial(kind: 'fifo' | 'socket' | 'char-device' | 'block-device', mode: number): ModelNode {
    return this.#add({ ...this.#base(mode), kind });
  }

  /** Records that names of a directory hold something else now. */
  setNames(directory: DirectoryNode, names: readonly (readonly [string, number | undefined])[]): void {
    const node = this.own(directory);
    const entries = changeableEntries(node);
    this.tick += 1;
    for (const [name, inode] of names) {
      if (inode === undefined) entries.delete(name);
      else entries.set(name, inode);
    }
    node.pending = [...node.pending, { id: this.tick, names }];
    node.mtime = this.tick;
    node.ctime = this.tick;
  }

  syncNode(found: ModelNode, extent: 'all' | 'content'): void {
    const node = this.own(found);
    if (extent === 'all') node.durableMode = node.mode;
    if (node.kind === 'directory') {
      node.durable = node.entries;
      node.entriesOwned = false;
      node.pending = [];
    } else if (node.kind === 'file') {
      node.content = node.content.forChange(this.#owner);
      node.content.sync();
    }
  }

  #add(node: ModelNode): ModelNode {
    this.nodes.set(node.ino, node);
    return node;
  }

  #base(mode: number): {
    owner: Owner;
    ino: number;
    mode: number;
    durableMode: number;
    nlink: number;
    mtime: number;
    ctime: number;
    birthtime: number;
    key: undefined;
  } {
    const ino = this.nextInode;
    this.nextInode += 1;
    this.tick += 1;
    const now = this.tick;
    return {
      owner: this.#owner,
      ino,
      mode,
      durableMode: mode,
      nlink: 0,
      mtime: now,
      ctime: now,
      birthtime: now,
      key: undefined,
    };
  }
}

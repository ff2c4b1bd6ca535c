import type { NodeKind } from '../../file-system.js';
import type { FileContent } from './file-content.js';

/** Who may change a node in place; everybody else copies it first. */
export type Owner = object;

/** A directory change that no sync has made durable yet. It survives a crash as a whole or not at all. */
export interface PendingChange {
  /** Order among all changes of the file system. */
  readonly id: number;
  /** What each name holds afterwards; `undefined` for nothing. Two names for a rename inside the directory. */
  readonly names: readonly (readonly [name: string, inode: number | undefined])[];
}

interface NodeBase {
  readonly owner: Owner;
  readonly ino: number;
  readonly kind: NodeKind;
  mode: number;
  /** The mode that a crash falls back to. */
  durableMode: number;
  nlink: number;
  mtime: number;
  ctime: number;
  readonly birthtime: number;
  /** Canonical text of the durable form, computed when it is asked for; only valid for nodes without pending changes. */
  key: string | undefined;
}

export interface DirectoryNode extends NodeBase {
  readonly kind: 'directory';
  parent: number;
  /** Names as one-byte text. Shared with `durable` after a sync, hence copied before it is changed. */
  entries: ReadonlyMap<string, number>;
  entriesOwned: boolean;
  durable: ReadonlyMap<string, number>;
  pending: readonly PendingChange[];
}

export interface FileNode extends NodeBase {
  readonly kind: 'file';
  content: FileContent;
}

export interface SymlinkNode extends NodeBase {
  readonly kind: 'symlink';
  readonly target: Uint8Array;
}

export interface SpecialNode extends NodeBase {
  readonly kind: 'fifo' | 'socket' | 'char-device' | 'block-device';
}

export type ModelNode = DirectoryNode | FileNode | SymlinkNode | SpecialNode;

/** One-byte text of a name: exact for any bytes, and a cheap key. */
export function nameKey(name: Uint8Array): string {
  return Buffer.from(name.buffer, name.byteOffset, name.length).toString('latin1');
}

export function nameFromKey(key: string): Uint8Array {
  return Buffer.from(key, 'latin1');
}

/** Returns a copy that `owner` may change. */
export function ownedCopy<N extends ModelNode>(node: N, owner: Owner): N {
  const copy = { ...node, owner, key: undefined };
  if (copy.kind === 'directory') copy.entriesOwned = false;
  return copy;
}

/** The entries of a directory, safe to change. */
export function changeableEntries(node: DirectoryNode): Map<string, number> {
  if (!node.entriesOwned) {
    node.entries = new Map(node.entries);
    node.entriesOwned = true;
  }
  return node.entries as Map<string, number>;
}

/** Tells whether a crash could show something else than what is seen now. */
export function isDirty(node: ModelNode): boolean {
  if (node.mode !== node.durableMode) return true;
  if (node.kind === 'directory') return node.pending.length > 0;
  return node.kind === 'file' && node.content.dirty;
}

/** Canonical text of a clean node. */
export function cleanKey(node: ModelNode): string {
  node.key ??= computeKey(node);
  return node.key;
}

function computeKey(node: ModelNode): string {
  const head = `${node.ino} ${node.kind} ${node.mode}`;
  switch (node.kind) {
    case 'directory': {
      const names = [...node.entries.keys()].sort();
      let text = head;
      for (const name of names) text += `\0${name}\0${node.entries.get(name)}`;
      return text;
    }
    case 'file':
      return `${head} ${nameKey(node.content.bytes())}`;
    case 'symlink':
      return `${head} ${nameKey(node.target)}`;
    default:
      return head;
  }
}

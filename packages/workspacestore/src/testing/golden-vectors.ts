import { readFileSync } from 'node:fs';

import type { TreeNode } from './tree-node.js';

/** A logical tree and what it must be called for ever. */
export interface GoldenTree {
  readonly name: string;
  readonly rootMode: number;
  readonly nodes: readonly TreeNode[];
  readonly omitted: readonly { readonly path: Uint8Array; readonly reason: string }[];
  readonly rules: readonly string[];
  /** The bytes of the root directory's tree object, when they are few. */
  readonly treeObject: Uint8Array | undefined;
  readonly treeKey: string;
  readonly rootObject: Uint8Array;
  readonly ref: string;
}

interface TreeJson {
  readonly name: string;
  readonly mode: string;
  readonly entries: readonly EntryJson[];
  readonly omitted: readonly { readonly path: string; readonly reason: string }[];
  readonly rules: readonly string[];
  readonly treeObject: string | null;
  readonly treeKey: string;
  readonly rootObject: string;
  readonly ref: string;
}

interface EntryJson {
  readonly path: string;
  readonly kind: TreeNode['kind'];
  readonly mode: string;
  readonly content?: string;
  readonly repeat?: string;
  readonly size?: number;
  readonly target?: string;
}

/** Loads the golden trees, which an independent implementation of the format pages wrote. */
export function goldenTrees(): readonly GoldenTree[] {
  return (goldenFile('trees.json') as readonly TreeJson[]).map((tree) => ({
    name: tree.name,
    rootMode: Number.parseInt(tree.mode, 8),
    nodes: tree.entries.map(toNode),
    omitted: tree.omitted.map(({ path, reason }) => ({ path: Buffer.from(path, 'hex'), reason })),
    rules: tree.rules,
    treeObject: tree.treeObject === null ? undefined : Buffer.from(tree.treeObject, 'hex'),
    treeKey: tree.treeKey,
    rootObject: Buffer.from(tree.rootObject, 'hex'),
    ref: tree.ref,
  }));
}

/** Loads one file of the vectors as it is. */
export function goldenFile(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../vectors/${name}`, import.meta.url), 'utf8'));
}

function toNode(entry: EntryJson): TreeNode {
  const path = Buffer.from(entry.path, 'hex');
  const mode = Number.parseInt(entry.mode, 8);
  if (entry.kind === 'symlink')
    return { path, kind: 'symlink', mode: 0, target: Buffer.from(entry.target ?? '', 'hex') };
  if (entry.kind === 'directory') return { path, kind: 'directory', mode };
  const content =
    entry.repeat === undefined
      ? Buffer.from(entry.content ?? '', 'hex')
      : Buffer.alloc(entry.size ?? 0, Buffer.from(entry.repeat, 'hex'));
  return { path, kind: 'file', mode, content };
}

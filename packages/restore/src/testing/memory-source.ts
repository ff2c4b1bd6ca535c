import { concatBytes, encodePathText, sha256Hex, throwIfAborted } from '@holdfast/base';
import { Dir, type FileSystem, nodeFileSystem, type Stat } from '@holdfast/durable';
import {
  type ComparedTrees,
  type ContentKey,
  type LiveEntry,
  type LiveOmitted,
  type LiveTree,
  type OmittedEntry,
  parseRef,
  type Ref,
  RefNotFoundError,
  type Tree,
  type TreeEntry,
} from '@holdfast/workspacestore';

import { ContentKeyHasher } from '../internal/content-key.js';
import { pathKey, treeOrder } from '../internal/path-key.js';
import { signatureOf } from '../internal/signature.js';
import type { ContentSink, RestoreSource, SourceScanOptions } from '../source.js';
import { compareWhole } from './compare-whole.js';

/** What `MemorySource.define` makes of one path. */
export type DefinedNode =
  | { readonly kind: 'directory'; readonly mode?: number | undefined }
  | { readonly kind: 'file'; readonly content: string | Uint8Array; readonly mode?: number | undefined }
  | { readonly kind: 'symlink'; readonly target: string };

export interface DefineOptions {
  readonly rootMode?: number | undefined;
  readonly omitted?: readonly OmittedEntry[] | undefined;
  readonly ignore?: readonly string[] | undefined;
}

/**
 * A small restore source in memory, for tests of strategies: trees are captured from any file system or defined, and
 * nothing is compressed or chunked. Ignore rules are whole paths, as path text; that is all a test needs.
 */
export class MemorySource implements RestoreSource {
  readonly fileSystem: FileSystem;
  readonly #trees = new Map<Ref, Tree>();
  readonly #contents = new Map<string, Uint8Array>();
  /** Files fetched so far. */
  fetched = 0;
  /** Changes what is delivered; for sources that lie. */
  tamper: ((entry: TreeEntry, bytes: Uint8Array) => Uint8Array) | undefined;

  constructor(fileSystem: FileSystem = nodeFileSystem()) {
    this.fileSystem = fileSystem;
  }

  /** Captures a live directory. */
  capture(root: string, options: SourceScanOptions = {}): Ref {
    const live = this.#scan(root, options, (key, bytes) => {
      this.#contents.set(key, bytes);
    });
    const omitted = live.omitted.flatMap(({ path, reason }) =>
      reason === 'ignored' ? [] : [{ path, reason }],
    );
    const entries = live.entries.map(({ signature, ...entry }): TreeEntry => {
      void signature;
      return entry;
    });
    return this.#keep(entries, live.rootMode, { omitted, ignore: options.ignore });
  }

  /** Makes a tree from path text to nodes; parents are added. */
  define(nodes: Readonly<Record<string, DefinedNode>>, options: DefineOptions = {}): Ref {
    const entries = new Map<string, TreeEntry>();
    for (const [text, node] of Object.entries(nodes)) {
      const path = Buffer.from(text, 'utf8');
      for (let slash = text.indexOf('/'); slash > 0; slash = text.indexOf('/', slash + 1)) {
        const parent = Buffer.from(text.slice(0, slash));
        if (!entries.has(pathKey(parent)))
          entries.set(pathKey(parent), { path: parent, kind: 'directory', mode: 0o755, size: 0 });
      }
      entries.set(pathKey(path), this.#entry(path, node));
    }
    return this.#keep([...entries.values()], options.rootMode ?? 0o755, options);
  }

  /** Adds a tree as it is, broken or not. */
  add(tree: Tree): Ref {
    this.#trees.set(tree.ref, tree);
    return tree.ref;
  }

  openTree(ref: Ref, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<Tree> {
    return attempt(() => {
      throwIfAborted(options.signal);
      const tree = this.#trees.get(ref);
      if (tree === undefined) throw new Error(`no tree ${ref}`);
      return tree;
    });
  }

  scan(root: string, options: SourceScanOptions = {}): Promise<LiveTree> {
    return attempt(() => {
      throwIfAborted(options.signal);
      return this.#scan(root, options, () => undefined);
    });
  }

  async compare(
    root: string,
    ref: Ref,
    options: Omit<SourceScanOptions, 'target'> = {},
  ): Promise<ComparedTrees> {
    throwIfAborted(options.signal);
    const target = this.#trees.get(ref);
    if (target === undefined) throw new RefNotFoundError(ref);
    const ignore = [...(options.ignore ?? []), ...target.ignore];
    return compareWhole(await this.scan(root, { ...options, ignore, target }), target);
  }

  async fetch(
    entries: readonly TreeEntry[],
    sink: ContentSink,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    for (const entry of entries) {
      throwIfAborted(options.signal);
      const bytes = this.#contents.get(String(entry.content));
      if (bytes === undefined) throw new Error(`no content for ${encodePathText(entry.path)}`);
      await sink(entry, once(this.tamper?.(entry, bytes) ?? bytes));
      this.fetched += 1;
    }
  }

  #entry(path: Uint8Array, node: DefinedNode): TreeEntry {
    if (node.kind === 'symlink') {
      return { path, kind: 'symlink', mode: 0, size: 0, target: Buffer.from(node.target, 'utf8') };
    }
    if (node.kind === 'directory') return { path, kind: 'directory', mode: node.mode ?? 0o755, size: 0 };
    const bytes = typeof node.content === 'string' ? Buffer.from(node.content, 'utf8') : node.content;
    const content = keyOf(bytes);
    this.#contents.set(content, bytes);
    return { path, kind: 'file', mode: node.mode ?? 0o644, size: bytes.length, content };
  }

  #keep(entries: readonly TreeEntry[], rootMode: number, options: DefineOptions): Ref {
    const ordered = [...entries].sort((a, b) =>
      treeOrder(pathKey(a.path)) < treeOrder(pathKey(b.path)) ? -1 : 1,
    );
    const treeKey = treeKeyOf(ordered);
    const omitted = options.omitted ?? [];
    const ignore = options.ignore ?? [];
    const facts = JSON.stringify([
      treeKey,
      rootMode,
      omitted.map(({ path, reason }) => [pathKey(path), reason]),
      ignore,
    ]);
    const ref = parseRef(`v1:sha256:${sha256Hex(Buffer.from(facts))}`);
    this.#trees.set(ref, { ref, rootMode, treeKey, omitted, ignore, entries: ordered });
    return ref;
  }

  #scan(root: string, options: SourceScanOptions, keep: (key: string, bytes: Uint8Array) => void): LiveTree {
    using dir = Dir.openRoot(this.fileSystem, root);
    const walk = new Scan(options, keep);
    walk.directory(dir, '');
    return {
      rootMode: dir.stat().mode & 0o777,
      treeKey: treeKeyOf(walk.entries),
      entries: walk.entries,
      omitted: walk.omitted,
    };
  }
}

class Scan {
  readonly entries: LiveEntry[] = [];
  readonly omitted: LiveOmitted[] = [];
  readonly #ignore: ReadonlySet<string>;
  readonly #reserved: ReadonlySet<string>;
  readonly #maxFile: number;
  readonly #onUnreadable: 'fail' | 'omit';
  readonly #keep: (key: string, bytes: Uint8Array) => void;

  constructor(options: SourceScanOptions, keep: (key: string, bytes: Uint8Array) => void) {
    this.#ignore = new Set(options.ignore);
    this.#reserved = new Set(options.reserved);
    this.#maxFile = options.limits?.fileBytes ?? Number.POSITIVE_INFINITY;
    this.#onUnreadable = options.onUnreadable ?? 'fail';
    this.#keep = keep;
  }

  directory(dir: Dir, prefix: string): void {
    const names = dir.list().sort((a, b) => Buffer.compare(a, b));
    for (const name of names) {
      const stat = dir.lstat(name);
      if (stat === undefined) continue;
      const path = concatBytes([Buffer.from(prefix, 'latin1'), name]);
      this.#node(dir, name, path, stat);
    }
  }

  #node(dir: Dir, name: Uint8Array, path: Uint8Array, stat: Stat): void {
    const text = encodePathText(path);
    const leave = (reason: LiveOmitted['reason']): void => {
      this.omitted.push({ path, reason, kind: stat.kind, signature: signatureOf(stat) });
    };
    if (this.#reserved.has(text)) leave('reserved');
    else if (this.#ignore.has(text)) leave('ignored');
    else if (stat.kind === 'symlink') {
      this.#add(path, { kind: 'symlink', mode: 0, size: 0, target: dir.readlink(name) }, stat);
    } else if (stat.kind === 'directory') this.#subdirectory(dir, name, path, stat, leave);
    else if (stat.kind !== 'file') leave('special');
    else if (stat.size > this.#maxFile) leave('limit');
    else this.#file(dir, name, path, stat, leave);
  }

  #subdirectory(
    dir: Dir,
    name: Uint8Array,
    path: Uint8Array,
    stat: Stat,
    leave: (reason: 'unreadable') => void,
  ): void {
    let child: Dir;
    try {
      child = dir.openDir(name);
    } catch (error) {
      if (this.#onUnreadable === 'fail') throw error;
      leave('unreadable');
      return;
    }
    using opened = child;
    this.#add(path, { kind: 'directory', mode: stat.mode & 0o777, size: 0 }, stat);
    this.directory(opened, `${pathKey(path)}/`);
  }

  #file(
    dir: Dir,
    name: Uint8Array,
    path: Uint8Array,
    stat: Stat,
    leave: (reason: 'unreadable') => void,
  ): void {
    let bytes: Uint8Array;
    try {
      using file = dir.openFile(name);
      bytes = file.readAll({ maxBytes: 1024 * 1024 * 1024 });
    } catch (error) {
      if (this.#onUnreadable === 'fail') throw error;
      leave('unreadable');
      return;
    }
    const content = keyOf(bytes);
    this.#keep(content, bytes);
    this.#add(path, { kind: 'file', mode: stat.mode & 0o777, size: bytes.length, content }, stat);
  }

  #add(path: Uint8Array, entry: Omit<TreeEntry, 'path'>, stat: Stat): void {
    this.entries.push({ path, ...entry, signature: signatureOf(stat) });
  }
}

function keyOf(bytes: Uint8Array): ContentKey {
  const hasher = new ContentKeyHasher();
  hasher.update(bytes);
  return hasher.key();
}

function treeKeyOf(entries: readonly TreeEntry[]): string {
  const rows = entries.map(({ path, kind, mode, content, target }) => [
    pathKey(path),
    kind,
    mode,
    content ?? '',
    target === undefined ? '' : pathKey(target),
  ]);
  return sha256Hex(Buffer.from(JSON.stringify(rows)));
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  const piece = 64 * 1024;
  for (let start = 0; start < bytes.length; start += piece) yield bytes.subarray(start, start + piece);
}

async function attempt<T>(work: () => T): Promise<T> {
  await Promise.resolve();
  return work();
}

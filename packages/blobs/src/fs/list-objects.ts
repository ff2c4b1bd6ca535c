import { type Pacer, throwIfAborted } from '@holdfast/base';
import { type Dir, FileSystemError, type Stat } from '@holdfast/durable';

import type { BlobEntry } from '../driver.js';
import { isForeign } from './foreign.js';
import { isBucket, isLegalText, placeDirectory, placeLeaf, readEntry } from './layout.js';

export interface ListPlan {
  /** Most names that are kept in memory per level of the keys. */
  readonly window: number;
  readonly pacer: Pacer;
  readonly signal: AbortSignal | undefined;
}

/**
 * Lists objects sorted by key with bounded memory. Buckets are unordered, so each level is scanned for its smallest
 * names beyond the last one handed out, a window at a time: one scan per level for all but the largest stores.
 */
export async function* listObjects(
  node: Dir,
  prefix: string,
  plan: ListPlan,
): AsyncGenerator<BlobEntry, void, undefined> {
  yield* listLevel(node, '', prefix, plan);
}

/** Lists what lies below `node`, whose keys start with `path`; `rest` is what is left of the prefix. */
async function* listLevel(
  node: Dir,
  path: string,
  rest: string,
  plan: ListPlan,
): AsyncGenerator<BlobEntry, void, undefined> {
  const slash = rest.indexOf('/');
  if (slash >= 0) {
    const segment = rest.slice(0, slash);
    using child = open(node, placeDirectory(segment));
    if (child !== undefined) yield* listLevel(child, `${path}${segment}/`, rest.slice(slash + 1), plan);
    return;
  }
  let last = '';
  for (;;) {
    const names = await smallestNames(node, last, rest, plan);
    yield* listNames(node, path, names, plan);
    if (names.length < plan.window) return;
    last = names.at(-1) as string;
  }
}

/**
 * Scans a level for its smallest names after `last`: objects by their segment, directories by their segment and a
 * slash, which is how whole keys sort.
 */
async function smallestNames(node: Dir, last: string, prefix: string, plan: ListPlan): Promise<string[]> {
  let names: string[] = [];
  /** Once the window is full: the largest name in it. Most of a large level is beyond, and costs one comparison. */
  let limit: string | undefined;
  const wanted = (name: string): boolean =>
    name > last && (limit === undefined || name < limit) && name.startsWith(prefix);
  const add = (name: string): void => {
    names.push(name);
    if (names.length < plan.window * 2) return;
    names = names.sort().slice(0, plan.window);
    limit = names.at(-1);
  };
  for (const bucket of node.list().map(nameText).filter(isBucket).sort()) {
    if (plan.pacer.due) await plan.pacer.rest(plan.signal);
    throwIfAborted(plan.signal);
    using dir = open(node, [bucket]);
    if (dir !== undefined) scan(dir, '', wanted, add);
  }
  return names.sort().slice(0, plan.window);
}

function scan(dir: Dir, begun: string, wanted: (name: string) => boolean, add: (name: string) => void): void {
  for (const bytes of dir.list()) {
    const entry = readEntry(nameText(bytes));
    if (entry === undefined) continue;
    const segment = begun + entry.text;
    if (entry.kind === 'continuation') {
      using more = open(dir, [nameText(bytes)]);
      if (more !== undefined) scan(more, segment, wanted, add);
      continue;
    }
    const name = entry.kind === 'object' ? segment : `${segment}/`;
    // What is not wanted is not looked at any further: a large level is scanned several times.
    if (wanted(name) && isLegalText(entry.text)) add(name);
  }
}

/** The first look-ahead is short, for those who want only a few. */
const firstBatch = 32;
const largestBatch = 1024;

async function* listNames(
  node: Dir,
  path: string,
  names: readonly string[],
  plan: ListPlan,
): AsyncGenerator<BlobEntry, void, undefined> {
  let size = firstBatch;
  for (let start = 0; start < names.length; start += size, size = Math.min(size * 2, largestBatch)) {
    const batch = names.slice(start, start + size);
    const stats = await statObjects(node, batch, plan);
    for (const name of batch) {
      if (name.endsWith('/')) {
        using child = open(node, placeDirectory(name.slice(0, -1)));
        if (child !== undefined) yield* listLevel(child, path + name, '', plan);
        continue;
      }
      const stat = stats.get(name);
      if (stat?.kind !== 'file') continue;
      yield { key: path + name, size: stat.size, modified: Number(stat.mtimeNs / 1_000_000n) };
    }
  }
}

/** Looks at the objects of a batch bucket by bucket, so that each bucket is opened once. */
async function statObjects(node: Dir, batch: readonly string[], plan: ListPlan): Promise<Map<string, Stat>> {
  const byDirectory = new Map<string, { readonly path: string[]; readonly files: [string, string][] }>();
  for (const name of batch) {
    if (name.endsWith('/')) continue;
    const path = placeLeaf(name);
    const file = path.pop() as string;
    const directory = path.join('/');
    const group = byDirectory.get(directory) ?? { path, files: [] };
    group.files.push([name, file]);
    byDirectory.set(directory, group);
  }
  const stats = new Map<string, Stat>();
  for (const { path, files } of byDirectory.values()) {
    if (plan.pacer.due) await plan.pacer.rest(plan.signal);
    using dir = open(node, path);
    if (dir === undefined) continue;
    for (const [name, file] of files) {
      const stat = dir.lstat(file);
      if (stat !== undefined) stats.set(name, stat);
    }
  }
  return stats;
}

/** Opens a directory below `node`; `undefined` when it is gone or something that is none of ours. */
function open(node: Dir, path: readonly string[]): Dir | undefined {
  let current = node.retain();
  for (const name of path) {
    try {
      const child = current.openDir(name);
      current.close();
      current = child;
    } catch (error) {
      current.close();
      if (isForeign(error) || (FileSystemError.is(error) && error.errno === 'ENOENT')) return undefined;
      throw error;
    }
  }
  return current;
}

function nameText(name: Uint8Array): string {
  return Buffer.from(name.buffer, name.byteOffset, name.byteLength).toString('latin1');
}

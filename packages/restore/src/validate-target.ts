import { encodePathText } from '@holdfast/base';
import type { Tree, TreeEntry } from '@holdfast/workspacestore';

import { RestoreTargetError, type TargetRule } from './errors.js';
import { baseKey, compareTreeOrder, parentKey, pathKey } from './internal/path-key.js';

/** What a target tree may hold at most. */
export interface TargetLimits {
  /** Default 1,048,576. */
  readonly entries?: number | undefined;
  /** Components of a path. Default 256. */
  readonly depth?: number | undefined;
}

const maxPathBytes = 4_095;
const maxComponentBytes = 255;

/**
 * Checks a target tree before anything is written: names, order, duplicates, parents, kinds, modes, sizes, limits.
 * @throws RestoreTargetError naming the first rule that is broken and where.
 */
export function validateTarget(target: Tree, limits: TargetLimits = {}): void {
  const maxEntries = limits.entries ?? 1_048_576;
  const maxDepth = limits.depth ?? 256;
  if (target.entries.length > maxEntries) {
    throw new RestoreTargetError('limit', '.', `${target.entries.length} entries, at most ${maxEntries}`);
  }
  if (!isMode(target.rootMode))
    throw new RestoreTargetError('mode', '.', 'the mode of the root is not 0 to 0o777');
  const directories = new Set(['']);
  let parent = '';
  let previous: Uint8Array | undefined;
  for (const entry of target.entries) {
    const { path } = entry;
    const refuse = (rule: TargetRule, detail: string): never => {
      throw new RestoreTargetError(rule, encodePathText(path), detail);
    };
    checkPath(path, maxDepth, refuse);
    const order = previous === undefined ? -1 : compareTreeOrder(previous, path);
    if (order === 0) refuse('duplicate', 'the path is there twice');
    if (order > 0) refuse('order', 'entries are not in canonical order');
    previous = path;
    // Most entries have the parent of the one before them.
    const cut = path.lastIndexOf(slash);
    const sameParent = cut === (parent === '' ? -1 : parent.length) && isPrefix(parent, path);
    if (!sameParent) parent = cut < 0 ? '' : pathKey(path.subarray(0, cut));
    if (!directories.has(parent)) refuse('parent', 'its parent is not a directory of the tree');
    checkEntry(entry, refuse);
    if (entry.kind === 'directory') directories.add(pathKey(path));
  }
}

const slash = 0x2f;
const dot = 0x2e;

function isPrefix(key: string, path: Uint8Array): boolean {
  for (let index = 0; index < key.length; index += 1) if (key.charCodeAt(index) !== path[index]) return false;
  return true;
}

/** Looks at every byte once: there may be a million paths. */
function checkPath(
  path: Uint8Array,
  maxDepth: number,
  refuse: (rule: TargetRule, detail: string) => never,
): void {
  if (path.length > maxPathBytes) refuse('name', `a path has at most ${maxPathBytes} bytes`);
  let start = 0;
  let depth = 0;
  for (let index = 0; index <= path.length; index += 1) {
    const byte = path[index];
    if (byte === 0) refuse('name', 'a component holds a NUL');
    if (byte !== slash && index < path.length) continue;
    const length = index - start;
    if (length === 0) refuse('name', 'a component is empty');
    if (length > maxComponentBytes) refuse('name', `a component has at most ${maxComponentBytes} bytes`);
    const dots = path[start] === dot && (length === 1 || (length === 2 && path[start + 1] === dot));
    if (dots) refuse('name', 'a component is "." or ".."');
    start = index + 1;
    depth += 1;
  }
  if (depth > maxDepth) refuse('limit', `a path has at most ${maxDepth} components`);
}

function checkEntry(entry: TreeEntry, refuse: (rule: TargetRule, detail: string) => never): void {
  const { kind, mode, size, content, target } = entry;
  switch (kind) {
    case 'directory':
      if (!isMode(mode)) refuse('mode', 'a mode is 0 to 0o777');
      break;
    case 'file':
      if (!isMode(mode)) refuse('mode', 'a mode is 0 to 0o777');
      if (!Number.isSafeInteger(size) || size < 0) refuse('size', 'a size is a whole number of bytes');
      if (content === undefined || !isContentKey(content)) refuse('kind', 'a file has no content key');
      break;
    case 'symlink':
      if (target === undefined || target.length === 0 || target.length > maxPathBytes || target.includes(0)) {
        refuse('link-target', `a link target has 1 to ${maxPathBytes} bytes and no NUL`);
      }
      break;
    default:
      refuse('kind', `unknown kind ${JSON.stringify(kind satisfies never)}`);
  }
}

const contentKey = /^[0-9a-f]{64}$/;

function isContentKey(content: string): boolean {
  return content.length === 64 && contentKey.test(content);
}

function isMode(mode: number): boolean {
  return Number.isInteger(mode) && mode >= 0 && mode <= 0o777;
}

/**
 * Finds siblings that a file system which folds case or normalizes names could not tell apart. Returns pairs of paths,
 * empty for almost every tree; whether the file system does fold is for the caller to probe.
 */
export function foldingCollisions(target: Tree): readonly (readonly [Uint8Array, Uint8Array])[] {
  const seen = new Map<string, Uint8Array>();
  const pairs: (readonly [Uint8Array, Uint8Array])[] = [];
  for (const entry of target.entries) {
    const key = pathKey(entry.path);
    const folded = `${parentKey(key)}/${foldName(baseKey(key))}`;
    const twin = seen.get(folded);
    if (twin === undefined) seen.set(folded, entry.path);
    else pairs.push([twin, entry.path]);
  }
  return pairs;
}

const plainName = /^[a-z0-9._-]*$/;
const decoder = new TextDecoder('utf-8', { fatal: true });

/** A coarse full fold: compatible forms, then upper and lower case, so that `ß` meets `ss` and the Kelvin sign `k`. */
function foldName(name: string): string {
  if (plainName.test(name)) return name;
  try {
    const text = decoder.decode(Buffer.from(name, 'latin1'));
    return text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
  } catch {
    // Not UTF-8: no file system folds what it cannot read as text.
    return name;
  }
}

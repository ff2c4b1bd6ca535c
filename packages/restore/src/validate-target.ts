import { encodePathText } from '@holdfast/base';
import type { Tree, TreeEntry } from '@holdfast/workspacestore';

import { RestoreTargetError, type TargetRule } from './errors.js';
import { baseKey, depthOf, parentKey, pathKey, treeOrder } from './internal/path-key.js';

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
  let previous: string | undefined;
  for (const entry of target.entries) {
    const key = pathKey(entry.path);
    const refuse = (rule: TargetRule, detail: string): never => {
      throw new RestoreTargetError(rule, encodePathText(entry.path), detail);
    };
    const broken = brokenPath(key, maxDepth);
    if (broken !== undefined) refuse(broken.rule, broken.detail);
    const order = treeOrder(key);
    if (previous === order) refuse('duplicate', 'the path is there twice');
    if (previous !== undefined && previous > order) refuse('order', 'entries are not in canonical order');
    previous = order;
    if (!directories.has(parentKey(key))) refuse('parent', 'its parent is not a directory of the tree');
    checkEntry(entry, refuse);
    if (entry.kind === 'directory') directories.add(key);
  }
}

function brokenPath(key: string, maxDepth: number): { rule: TargetRule; detail: string } | undefined {
  if (key.length > maxPathBytes) return { rule: 'name', detail: `a path has at most ${maxPathBytes} bytes` };
  for (const name of key.split('/')) {
    if (name === '') return { rule: 'name', detail: 'a component is empty' };
    if (name === '.' || name === '..') return { rule: 'name', detail: `a component is "${name}"` };
    if (name.includes('\0')) return { rule: 'name', detail: 'a component holds a NUL' };
    if (name.length > maxComponentBytes)
      return { rule: 'name', detail: `a component has at most ${maxComponentBytes} bytes` };
  }
  if (depthOf(key) > maxDepth) return { rule: 'limit', detail: `a path has at most ${maxDepth} components` };
  return undefined;
}

function checkEntry(entry: TreeEntry, refuse: (rule: TargetRule, detail: string) => never): void {
  switch (entry.kind) {
    case 'directory':
      if (!isMode(entry.mode)) refuse('mode', 'a mode is 0 to 0o777');
      break;
    case 'file':
      if (!isMode(entry.mode)) refuse('mode', 'a mode is 0 to 0o777');
      if (!Number.isSafeInteger(entry.size) || entry.size < 0)
        refuse('size', 'a size is a whole number of bytes');
      if (entry.content === undefined || !/^[0-9a-f]{64}$/.test(entry.content)) {
        refuse('kind', 'a file has no content key');
      }
      break;
    case 'symlink': {
      const { target } = entry;
      if (target === undefined || target.length === 0 || target.length > maxPathBytes || target.includes(0)) {
        refuse('link-target', `a link target has 1 to ${maxPathBytes} bytes and no NUL`);
      }
      break;
    }
    default:
      refuse('kind', `unknown kind ${JSON.stringify(entry.kind satisfies never)}`);
  }
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

import { encodePathText, equalBytes } from '@holdfast/base';

import type { LiveTree, TreeEntry } from '../tree.js';
import { pairEntries } from './tree-pairs.js';

const shown = 20;

/** The first paths in canonical order, as text, in which a live tree differs from wanted entries; empty when it does not. */
export function differences(rootMode: number, wanted: readonly TreeEntry[], live: LiveTree): string[] {
  const found: string[] = [];
  if (live.rootMode !== rootMode) found.push('.');
  for (const { path, before, after } of pairEntries(wanted, live.entries)) {
    if (before !== undefined && after !== undefined && sameEntry(before, after)) continue;
    found.push(encodePathText(path));
    if (found.length >= shown) return found;
  }
  return found;
}

/** Tells whether two entries have the same kind, mode and content. */
export function sameEntry(a: TreeEntry, b: TreeEntry): boolean {
  if (a.kind !== b.kind || a.mode !== b.mode || a.size !== b.size || a.content !== b.content) return false;
  return a.target === undefined || b.target === undefined
    ? a.target === b.target
    : equalBytes(a.target, b.target);
}

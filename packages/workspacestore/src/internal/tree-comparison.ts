import { encodePathText, equalBytes } from '@holdfast/base';

import type { LiveTree, TreeEntry } from '../tree.js';
import { byteText } from './entry-path.js';

const shown = 20;

/** The first paths, as text, in which a live tree differs from wanted entries; empty when it does not. */
export function differences(rootMode: number, wanted: readonly TreeEntry[], live: LiveTree): string[] {
  const found: string[] = [];
  if (live.rootMode !== rootMode) found.push('.');
  const rest = new Map(live.entries.map((entry) => [byteText(entry.path), entry]));
  for (const entry of wanted) {
    const text = byteText(entry.path);
    const other = rest.get(text);
    rest.delete(text);
    if (other === undefined || !sameEntry(entry, other)) found.push(encodePathText(entry.path));
    if (found.length >= shown) return found;
  }
  for (const entry of rest.values()) {
    found.push(encodePathText(entry.path));
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

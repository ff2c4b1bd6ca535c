import { Pacer } from '@holdfast/base';
import type { Stat } from '@holdfast/durable';

import type { LiveEntry, LiveOmitted, LiveSignature, LiveTree } from '../tree.js';
import type { CaptureResult } from './capture-types.js';
import { joinPath } from './entry-path.js';
import { keyText } from './object-key.js';
import type { StatTable } from './stat-table.js';

/** Turns a capture into the tree that a planner works with. */
export async function toLiveTree(result: CaptureResult, signal: AbortSignal | undefined): Promise<LiveTree> {
  return {
    rootMode: result.rootMode,
    treeKey: keyText(result.treeKey),
    entries: await liveEntries(result.table, signal),
    omitted: liveOmissions(result),
  };
}

/** What a capture left out, with signatures. */
export function liveOmissions(result: CaptureResult): LiveOmitted[] {
  return result.omitted.map(({ path, reason, kind, stat }): LiveOmitted => {
    return { path, reason, kind, signature: stat === undefined ? undefined : statSignature(stat) };
  });
}

async function liveEntries(table: StatTable, signal: AbortSignal | undefined): Promise<LiveEntry[]> {
  const entries: LiveEntry[] = [];
  const stack: { path: Uint8Array; next: number; end: number }[] = [
    { path: new Uint8Array(0), next: table.first(0), end: table.first(0) + table.count(0) },
  ];
  const pacer = new Pacer();
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (pacer.due) await pacer.rest(signal);
    const row = top.next;
    if (row >= top.end) {
      stack.pop();
      continue;
    }
    top.next += 1;
    const path = joinPath(top.path, table.name(row)).slice();
    entries.push(liveEntry(table, row, path));
    if (table.kind(row) === 'directory') {
      stack.push({ path, next: table.first(row), end: table.first(row) + table.count(row) });
    }
  }
  return entries;
}

/** The entry that a row of a table stands for. */
export function liveEntry(table: StatTable, row: number, path: Uint8Array): LiveEntry {
  const kind = table.kind(row);
  const signature: LiveSignature = {
    kind,
    mode: table.mode(row),
    size: table.size(row),
    ino: table.ino(row),
    mtimeNs: table.mtimeNs(row),
    ctimeNs: table.ctimeNs(row),
    nlink: table.nlink(row),
  };
  const mode = kind === 'symlink' ? 0 : table.mode(row) & 0o777;
  if (kind === 'file') {
    return { path, kind, mode, size: table.size(row), content: keyText(table.key(row)), signature };
  }
  if (kind === 'symlink') return { path, kind, mode, size: 0, target: table.target(row).slice(), signature };
  return { path, kind, mode, size: 0, signature };
}

function statSignature(stat: Stat): LiveSignature {
  const { kind, mode, size, ino, mtimeNs, ctimeNs, nlink } = stat;
  return { kind, mode, size, ino, mtimeNs, ctimeNs, nlink };
}

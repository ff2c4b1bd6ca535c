import { Pacer } from '@holdfast/base';

import type { ScanOptions } from '../capture-options.js';
import type { Ref } from '../ref.js';
import type { ComparedTrees, LiveEntry, TreeEntry } from '../tree.js';
import type { CaptureResult } from './capture-types.js';
import { byteText, joinPath } from './entry-path.js';
import { checkCaptureOptions } from './live-capture.js';
import { liveEntry, liveOmissions } from './live-tree.js';
import { keyText } from './object-key.js';
import type { ObjectTable } from './object-table.js';
import type { RootObject } from './root-object.js';
import { captureForScan, wrapScanFailure } from './scan.js';
import type { StatTable } from './stat-table.js';
import type { StoreContext } from './store-context.js';
import type { TreeRow } from './tree-object.js';
import { readDirectory, readRoot, refuseOmittedEntries, TreeCollector } from './tree-reading.js';
import { checkHostPath } from './tree-root.js';

/** A directory that is being listed: its rows on both sides, and how far each has come. */
interface Level {
  readonly path: Uint8Array;
  liveNext: number;
  readonly liveEnd: number;
  readonly rows: readonly TreeRow[];
  next: number;
}

/** A directory on the way down: its row in the live tree and its key in the other, as far as they have it. */
interface Descent {
  readonly path: Uint8Array;
  readonly live: number | undefined;
  readonly key: Uint8Array | undefined;
}

/**
 * Reads a live directory beside a snapshot. Tree keys say which directories are equal: nothing below those is listed or
 * read from the store, so that beyond the walk the cost is that of what differs.
 */
export async function compareLive(
  context: StoreContext,
  ref: Ref,
  table: ObjectTable,
  root: string,
  options: Omit<ScanOptions, 'target'>,
): Promise<ComparedTrees> {
  checkHostPath(root);
  const target = await readRoot(context.reader, table, ref, options);
  const asked = { ...options, ignore: [...(options.ignore ?? []), ...target.rules] };
  const rules = checkCaptureOptions(context, asked);
  const result = await wrapScanFailure(root, options, () => captureForScan(context, root, rules, asked));
  const comparing = new Comparing(context, ref, table, target, result, options);
  await comparing.run();
  return comparing.finish();
}

class Comparing {
  readonly #context: StoreContext;
  readonly #ref: Ref;
  readonly #table: ObjectTable;
  readonly #target: RootObject;
  readonly #result: CaptureResult;
  readonly #options: { readonly signal?: AbortSignal | undefined };
  readonly #collector: TreeCollector;
  readonly #live: LiveEntry[] = [];
  readonly #listed: Uint8Array[] = [];
  /** Directories with an omission somewhere below; they are listed, equal or not. */
  readonly #aboveOmitted = new Set<string>();
  readonly #levels: Level[] = [];
  #unlisted = 0;

  constructor(
    context: StoreContext,
    ref: Ref,
    table: ObjectTable,
    target: RootObject,
    result: CaptureResult,
    options: { readonly signal?: AbortSignal | undefined },
  ) {
    this.#context = context;
    this.#ref = ref;
    this.#table = table;
    this.#target = target;
    this.#result = result;
    this.#options = options;
    this.#collector = new TreeCollector(context.limits);
    for (const { path } of [...result.omitted, ...target.omitted]) this.#noteOmitted(byteText(path));
  }

  #noteOmitted(text: string): void {
    this.#aboveOmitted.add('');
    for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) {
      this.#aboveOmitted.add(text.slice(0, at));
    }
  }

  async run(): Promise<void> {
    const pacer = new Pacer();
    await this.#enter(new Uint8Array(0), 0, this.#target.treeKey);
    for (let level = this.#levels.at(-1); level !== undefined; level = this.#levels.at(-1)) {
      if (pacer.due) await pacer.rest(this.#options.signal);
      const next = this.#step(level);
      if (next !== undefined) await this.#enter(next.path, next.live, next.key);
    }
    refuseOmittedEntries(this.#ref, this.#target, this.#collector.entries);
  }

  /** Takes the next name of a directory, on the sides that have it. Returns the directory of that name, if it is one. */
  #step(level: Level): Descent | undefined {
    const stats = this.#result.table;
    const row = level.rows[level.next];
    const hasLive = level.liveNext < level.liveEnd;
    if (row === undefined && !hasLive) {
      this.#levels.pop();
      return undefined;
    }
    const order = row === undefined ? -1 : hasLive ? stats.compareName(level.liveNext, row.name) : 1;
    let path: Uint8Array | undefined;
    let liveDirectory: number | undefined;
    let targetKey: Uint8Array | undefined;
    if (order <= 0) {
      const at = level.liveNext;
      level.liveNext += 1;
      path = joinPath(level.path, stats.name(at)).slice();
      this.#live.push(liveEntry(stats, at, path));
      if (stats.kind(at) === 'directory') liveDirectory = at;
    }
    if (order >= 0 && row !== undefined) {
      level.next += 1;
      path = this.#collector.add(level.path, row, this.#levels.length);
      if (row.kind === 'directory') targetKey = row.value;
    }
    if (path === undefined || (liveDirectory === undefined && targetKey === undefined)) return undefined;
    return { path, live: liveDirectory, key: targetKey };
  }

  async #enter(path: Uint8Array, live: number | undefined, key: Uint8Array | undefined): Promise<void> {
    const stats = this.#result.table;
    const equal = live !== undefined && key !== undefined && Buffer.compare(stats.key(live), key) === 0;
    if (equal && !this.#aboveOmitted.has(byteText(path))) {
      const { entries, bytes } = sumBelow(stats, live);
      this.#unlisted += entries;
      this.#collector.skip(entries, bytes, path);
      return;
    }
    this.#listed.push(path);
    const first = live === undefined ? 0 : stats.first(live);
    this.#levels.push({
      path,
      liveNext: first,
      liveEnd: live === undefined ? 0 : first + stats.count(live),
      rows:
        key === undefined
          ? []
          : await readDirectory(this.#context.reader, this.#table, this.#ref, path, key, this.#options),
      next: 0,
    });
  }

  finish(): ComparedTrees {
    const { rootMode, treeKey, table } = this.#result;
    const { mode, omitted, rules } = this.#target;
    const entries: readonly TreeEntry[] = this.#collector.entries;
    return {
      live: {
        rootMode,
        treeKey: keyText(treeKey),
        entries: this.#live,
        omitted: liveOmissions(this.#result),
      },
      target: {
        ref: this.#ref,
        rootMode: mode,
        treeKey: keyText(this.#target.treeKey),
        omitted,
        ignore: rules,
        entries,
      },
      listed: this.#listed,
      unlisted: this.#unlisted,
      changedSince: (sinceNs, most) => changedSince(table, sinceNs, most),
    };
  }
}

/** Entries below a directory, and the bytes of the files among them. */
function sumBelow(table: StatTable, directory: number): { entries: number; bytes: number } {
  let entries = 0;
  let bytes = 0;
  const open = [directory];
  for (let row = open.pop(); row !== undefined; row = open.pop()) {
    const first = table.first(row);
    const end = first + table.count(row);
    entries += end - first;
    for (let child = first; child < end; child += 1) {
      const kind = table.kind(child);
      if (kind === 'directory') open.push(child);
      else if (kind === 'file') bytes += table.size(child);
    }
  }
  return { entries, bytes };
}

/** Entries that changed at a time or later, in canonical order; the first `most` of them. */
function changedSince(table: StatTable, sinceNs: bigint, most = Number.POSITIVE_INFINITY): LiveEntry[] {
  const isYoung = table.changeTest(sinceNs);
  const found: LiveEntry[] = [];
  const open: OpenRows[] = [{ row: 0, next: table.first(0), end: table.first(0) + table.count(0) }];
  for (let top = open.at(-1); top !== undefined && found.length < most; top = open.at(-1)) {
    const row = top.next;
    if (row >= top.end) {
      open.pop();
      continue;
    }
    top.next += 1;
    if (isYoung(row))
      found.push(liveEntry(table, row, joinPath(pathOf(table, open), table.name(row)).slice()));
    if (table.kind(row) === 'directory') {
      open.push({ row, next: table.first(row), end: table.first(row) + table.count(row) });
    }
  }
  return found;
}

/** A directory whose rows are being looked at. Its path is made when somebody asks: few rows have anything to say. */
interface OpenRows {
  readonly row: number;
  next: number;
  readonly end: number;
  path?: Uint8Array;
}

function pathOf(table: StatTable, open: readonly OpenRows[]): Uint8Array {
  let path: Uint8Array = new Uint8Array(0);
  for (const level of open.slice(1)) path = level.path ??= joinPath(path, table.name(level.row)).slice();
  return path;
}

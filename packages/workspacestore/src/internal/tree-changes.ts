import { encodePathText } from '@holdfast/base';

import type { OmittedEntry, TreeEntry } from '../tree.js';
import type { TreeChange, TreeDiff } from '../tree-diff.js';
import { byteText, textBytes } from './entry-path.js';
import { IgnoreMatcher } from './ignore-matcher.js';
import type { ChangedEntries } from './text-changes.js';
import { sameEntry } from './tree-comparison.js';
import type { TreePair } from './tree-pairs.js';
import { toListRow } from './tree-rows.js';

/** What a side of a comparison did not look at. */
export interface Coverage {
  readonly omitted: readonly Pick<OmittedEntry, 'path'>[];
  readonly ignore: readonly string[];
}

/** Collects differing pairs into a diff. */
export class ChangeCollector {
  readonly #changes: TreeChange[] = [];
  readonly #uncovered: { path: string; reason: string }[] = [];
  readonly #before: CoverageTest;
  readonly #after: CoverageTest;
  /** Numbers of the changes that removed a file, by its content; contents of added files, by the change's number. */
  readonly #removedFiles = new Map<string, number[]>();
  readonly #contents = new Map<number, string>();
  readonly #entries: ChangedEntries[] = [];
  #finished: ReadonlyMap<TreeChange, ChangedEntries> = new Map();

  constructor(before: Coverage, after: Coverage) {
    this.#before = new CoverageTest(before);
    this.#after = new CoverageTest(after);
  }

  add({ path, before, after }: TreePair): void {
    if (before !== undefined && after !== undefined) {
      if (!sameEntry(before, after)) this.#push(compare(before, after), before, after);
    } else if (before !== undefined && this.#after.leavesOut(path, before.kind === 'directory')) {
      this.#uncovered.push({ path: encodePathText(path), reason: 'not captured on the second side' });
    } else if (after !== undefined && this.#before.leavesOut(path, after.kind === 'directory')) {
      this.#uncovered.push({ path: encodePathText(path), reason: 'not captured on the first side' });
    } else if (before !== undefined) {
      if (before.kind === 'file' && before.size > 0) {
        const content = before.content as string;
        const places = this.#removedFiles.get(content);
        if (places === undefined) this.#removedFiles.set(content, [this.#changes.length]);
        else places.push(this.#changes.length);
      }
      this.#push('removed', before, undefined);
    } else {
      this.#push('added', undefined, after);
    }
  }

  /** The diff; with `renames`, each added file takes the place of one removed file of equal content. */
  finish(renames: boolean): TreeDiff {
    const changes: (TreeChange | undefined)[] = [...this.#changes];
    const entries = [...this.#entries];
    if (renames) {
      for (const [position, change] of this.#changes.entries()) {
        const content = change.change === 'added' ? this.#contents.get(position) : undefined;
        const source = content === undefined ? undefined : this.#removedFiles.get(content)?.shift();
        if (source === undefined) continue;
        const removed = this.#changes[source] as TreeChange;
        changes[source] = undefined;
        changes[position] = { ...change, change: 'renamed', from: removed.path, before: removed.before };
        entries[position] = { before: entries[source]?.before, after: entries[position]?.after };
      }
    }
    const finished = new Map<TreeChange, ChangedEntries>();
    for (const [position, change] of changes.entries())
      if (change !== undefined) finished.set(change, entries[position] as ChangedEntries);
    this.#finished = finished;
    return { changes: [...finished.keys()], uncovered: this.#uncovered };
  }

  /** The entries that a change of the finished diff is about. */
  readonly entriesOf = (change: TreeChange): ChangedEntries => {
    return this.#finished.get(change) ?? { before: undefined, after: undefined };
  };

  #push(change: TreeChange['change'], before: TreeEntry | undefined, after: TreeEntry | undefined): void {
    const entry = (after ?? before) as TreeEntry;
    if (change === 'added' && entry.kind === 'file' && entry.size > 0) {
      this.#contents.set(this.#changes.length, entry.content as string);
    }
    this.#entries.push({ before, after });
    this.#changes.push({
      change,
      path: encodePathText(entry.path),
      ...(before === undefined ? {} : { before: toListRow(before) }),
      ...(after === undefined ? {} : { after: toListRow(after) }),
    });
  }
}

function compare(before: TreeEntry, after: TreeEntry): 'type' | 'mode' | 'modified' {
  if (before.kind !== after.kind) return 'type';
  return sameEntry({ ...before, mode: after.mode }, after) ? 'mode' : 'modified';
}

/** Tells what a side has left out: omitted paths and what is below them, and what its rules match. */
class CoverageTest {
  readonly #omitted: ReadonlySet<string>;
  readonly #ignore: IgnoreMatcher;

  constructor(coverage: Coverage) {
    this.#omitted = new Set(coverage.omitted.map(({ path }) => byteText(path)));
    this.#ignore = new IgnoreMatcher(coverage.ignore);
  }

  leavesOut(path: Uint8Array, isDirectory: boolean): boolean {
    const text = byteText(path);
    for (let end = text.indexOf('/'); end !== -1; end = text.indexOf('/', end + 1)) {
      const above = text.slice(0, end);
      if (this.#omitted.has(above) || this.#ignore.matches(textBytes(above), true)) return true;
    }
    return this.#omitted.has(text) || this.#ignore.matches(path, isDirectory);
  }
}

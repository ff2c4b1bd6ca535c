import { encodePathText, equalBytes } from '@holdfast/base';
import { type DirHandle, type FileHandle, type FileSystem, type Stat } from '@holdfast/durable';

import { UnreadableError } from '../errors.js';
import type { EntryKind, OmitReason } from '../tree.js';
import { ByteWriter } from './byte-writer.js';
import { CaptureLedger, isDenied, isMoved } from './capture-ledger.js';
import { beginLevel, findOld, type Level, none } from './capture-level.js';
import type { CaptureResult, CaptureRules, CaptureTotals, ObjectSink } from './capture-types.js';
import { joinPath } from './entry-path.js';
import { FileReader } from './file-reading.js';
import { MountBoundary } from './mount-boundary.js';
import { addObject } from './object-adding.js';
import { emptyFileKey, emptyTreeKey } from './object-key.js';
import { ReservedPaths } from './reserved-paths.js';
import type { Scouted } from './scout.js';
import { listedFlag, racyFlag, StatTable } from './stat-table.js';
import { encodeTreeRows } from './table-tree.js';
import { UntouchedRows } from './untouched-rows.js';

/** What became of capturing an entry: done, or it moved meanwhile. */
type Outcome = 'done' | 'moved';

const attempts = 4;

/** Rows that are taken over between two looks at the clock. */
const rowsPerStep = 64;

/**
 * Captures one tree: walks it in canonical order, reads what the previous table does not vouch for, and hands every
 * object that is new to the sink. All calls are synchronous; the generator yields after every entry and every MiB so that
 * whoever drives it can look at the clock and at the abort flag.
 */
export class Capture {
  readonly #fileSystem: FileSystem;
  readonly #rules: CaptureRules;
  readonly #reserved: ReservedPaths;
  readonly #previous: StatTable;
  readonly #sink: ObjectSink;
  readonly #scouted: Scouted | undefined;
  readonly #untouched: UntouchedRows;
  readonly #reader: FileReader;
  readonly #table: StatTable;
  readonly #writer = new ByteWriter(4096);
  readonly #levels: Level[] = [];
  readonly #ledger: CaptureLedger;
  #mount: MountBoundary | undefined;

  constructor(
    fileSystem: FileSystem,
    rules: CaptureRules,
    previous: StatTable | undefined,
    sink: ObjectSink,
    scouted?: Scouted,
  ) {
    this.#scouted = scouted;
    this.#fileSystem = fileSystem;
    this.#rules = rules;
    this.#reserved = new ReservedPaths(rules.reserved);
    this.#previous = (previous ?? new StatTable()).compact();
    this.#table = StatTable.after(this.#previous);
    this.#sink = sink;
    this.#reader = new FileReader(fileSystem, sink, rules);
    this.#ledger = new CaptureLedger(rules);
    this.#untouched = new UntouchedRows({
      fileSystem,
      previous: this.#previous,
      ignore: rules.ignore,
      reserved: this.#reserved,
      sink,
      ledger: this.#ledger,
      scouted,
    });
  }

  /** What has been captured so far. */
  get totals(): CaptureTotals {
    this.#ledger.totals.bytesRead = this.#reader.bytesRead;
    return this.#ledger.totals;
  }

  /** Runs the capture below an open root, which the caller closes. */
  *run(root: DirHandle): Generator<void, CaptureResult> {
    const stat = this.#fileSystem.fstat(root);
    this.#mount = new MountBoundary(this.#fileSystem, root, stat);
    if (this.#rules.trustSignatures) this.#untouched.begin(stat.dev);
    const row = this.#table.allocate(1);
    this.#table.setNode(row, new Uint8Array(0), 'directory', stat);
    try {
      this.#enter(root, new Uint8Array(0), row, stat, this.#previous.rows > 0 ? 0 : none);
      this.#ledger.drops(new Uint8Array(0), stat);
      for (let level = this.#levels.at(-1); level !== undefined; level = this.#levels.at(-1)) {
        if (level.next === level.count) this.#leave(level);
        else if (level.names !== undefined) yield* this.#nextName(level, level.names);
        else if (!this.#takeRows(level)) yield* this.#nextRow(level);
        yield;
      }
    } finally {
      for (const level of this.#levels) if (level.dir !== root) this.#fileSystem.close(level.dir);
    }
    this.#table.finish(this.#rules.racyFromNs, this.#reader.mapped);
    return {
      table: this.#table,
      treeKey: this.#table.key(row).slice(),
      rootMode: stat.mode & 0o777,
      omitted: this.#ledger.omitted,
      dropped: this.#ledger.dropped,
      raced: this.#ledger.raced,
      totals: this.totals,
    };
  }

  #enter(dir: DirHandle, path: Uint8Array, row: number, before: Stat, oldRow: number): void {
    const previous = this.#previous;
    const known = oldRow !== none && previous.kind(oldRow) === 'directory' ? oldRow : none;
    const listed =
      known !== none && (previous.flags(known) & listedFlag) !== 0 && this.#vouches(known, before);
    const names = listed ? undefined : this.#fileSystem.readdir(dir).sort((a, b) => Buffer.compare(a, b));
    const count = names === undefined ? previous.count(known) : names.length;
    this.#ledger.checkNames(path, count);
    if (known !== none) this.#scouted?.reach(previous.first(known));
    const first = this.#table.allocate(count);
    // Most of them will be seen untouched; the others are written again.
    if (listed && first !== previous.first(known)) this.#table.copyRows(first, previous.first(known), count);
    const filtered = !this.#rules.ignore.isEmpty || this.#reserved.isIn(path);
    const directory = { dir, path, row, before, names, count, filtered, first };
    this.#levels.push(beginLevel(directory, previous, known));
  }

  #leave(level: Level): void {
    const { before } = level;
    const after = this.#fileSystem.fstat(level.dir);
    const moved = after.mtimeNs !== before.mtimeNs || after.ctimeNs !== before.ctimeNs;
    if (moved) this.#ledger.race(level.path);
    // Later captures need not read the directory again: adding and removing a name moves both of its times.
    else if (level.kept === level.count && before.ctimeNs < this.#rules.racyFromNs)
      this.#table.setFlags(level.row, listedFlag);
    if (level.oldNext < level.oldEnd) level.clean = false;
    this.#table.setChildren(level.row, level.first, level.kept);
    this.#table.setKey(level.row, this.#treeKey(level));
    this.#levels.pop();
    const parent = this.#levels.at(-1);
    if (parent === undefined) return;
    this.#fileSystem.close(level.dir);
    if (!level.clean || level.oldRow === none || !this.#sameMode(level.row, level.oldRow))
      parent.clean = false;
  }

  #treeKey(level: Level): Uint8Array {
    if (level.kept === 0) return emptyTreeKey;
    if (level.clean) {
      const key = this.#previous.key(level.oldRow);
      if (this.#sink.has('tree', key)) return key;
    }
    this.#writer.reset();
    encodeTreeRows(this.#writer, this.#table, level.first, level.kept);
    return addObject(this.#sink, 'tree', this.#writer.view());
  }

  /** Captures the next name of a directory that was read. */
  *#nextName(level: Level, names: readonly Uint8Array[]): Generator<void> {
    const name = names[level.next] as Uint8Array;
    level.next += 1;
    const old = findOld(level, this.#previous, name);
    if (old !== none && this.#untouched.takes(level, old, this.#levels.length)) {
      this.#table.copyRows(level.first + level.kept - 1, old, 1);
    } else {
      yield* this.#capture(level, name, old);
    }
  }

  /** Captures the next row of a directory that was not read. */
  *#nextRow(level: Level): Generator<void> {
    const old = level.oldNext;
    level.next += 1;
    level.oldNext += 1;
    yield* this.#capture(level, this.#previous.name(old).slice(), old);
  }

  /** Takes over rows of a directory that was not read, a number of them at most. `false` when not even the next one. */
  #takeRows(level: Level): boolean {
    const start = level.oldNext;
    const end = Math.min(level.oldEnd, start + rowsPerStep);
    let old = start;
    while (old < end && this.#untouched.takes(level, old, this.#levels.length)) {
      const row = level.first + level.kept - 1;
      // They were copied together, unless something between them was left out since.
      if (level.kept <= level.next) this.#table.copyRows(row, old, 1);
      level.next += 1;
      old += 1;
    }
    level.oldNext = old;
    return old > start;
  }

  *#capture(level: Level, name: Uint8Array, old: number): Generator<void> {
    if (this.#reserved.has(level.path, name)) {
      const stat = this.#fileSystem.lstat(level.dir, name);
      this.#omit(level, name, 'reserved', stat, old);
      return;
    }
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const look = yield* this.#look(level, name, old);
      if (look === 'done') return;
    }
    this.#ledger.race(joinPath(level.path, name));
    this.#omit(level, name, 'unreadable', this.#fileSystem.lstat(level.dir, name), old);
  }

  *#look(level: Level, name: Uint8Array, old: number): Generator<void, Outcome> {
    const { ignore } = this.#rules;
    if (old !== none && ignore.isEmpty && this.#previous.kind(old) === 'directory') {
      // Most likely still one: opening it tells, and decides.
      if (this.#lookAtDirectory(level, name, undefined, old) === 'done') return 'done';
    }
    const stat = this.#lstat(level, name);
    if (stat === 'unreadable') return this.#unreadable(level, name, undefined, old);
    if (stat === undefined) {
      // Gone since its directory was read: a snapshot a moment later would not have it either.
      this.#ledger.race(joinPath(level.path, name));
      if (old !== none) level.clean = false;
      return 'done';
    }
    if (!ignore.isEmpty && ignore.matches(joinPath(level.path, name), stat.kind === 'directory')) {
      this.#omit(level, name, 'ignored', stat, old);
      return 'done';
    }
    switch (stat.kind) {
      case 'directory':
        return this.#lookAtDirectory(level, name, stat, old);
      case 'file':
        return yield* this.#lookAtFile(level, name, stat, old);
      case 'symlink':
        return this.#lookAtSymlink(level, name, stat, old);
      default:
        this.#omit(level, name, 'special', stat, old);
        return 'done';
    }
  }

  #lstat(level: Level, name: Uint8Array): Stat | undefined | 'unreadable' {
    try {
      return this.#fileSystem.lstat(level.dir, name);
    } catch (error) {
      if (isDenied(error)) return 'unreadable';
      throw error;
    }
  }

  #lookAtDirectory(level: Level, name: Uint8Array, seen: Stat | undefined, old: number): Outcome {
    const path = joinPath(level.path, name);
    let dir: DirHandle;
    try {
      dir = this.#fileSystem.openDir(level.dir, name);
    } catch (error) {
      if (isMoved(error)) return 'moved';
      if (isDenied(error)) return this.#unreadable(level, name, seen, old, error);
      throw error;
    }
    try {
      const stat = this.#fileSystem.fstat(dir);
      if (this.#mount?.isLeft(dir, stat, this.#isKnownDirectory(old, stat)) === true) {
        this.#fileSystem.close(dir);
        this.#omit(level, name, 'mount', stat, old);
        return 'done';
      }
      const row = this.#keep(level, name, 'directory', stat, old);
      this.#ledger.drops(path, stat);
      this.#enter(dir, path, row, stat, old);
      return 'done';
    } catch (error) {
      if (this.#levels.at(-1)?.dir !== dir) this.#fileSystem.close(dir);
      throw error;
    }
  }

  #isKnownDirectory(old: number, stat: Stat): boolean {
    return old !== none && this.#previous.kind(old) === 'directory' && this.#previous.ino(old) === stat.ino;
  }

  #lookAtSymlink(level: Level, name: Uint8Array, stat: Stat, old: number): Outcome {
    let target: Uint8Array;
    if (this.#vouches(old, stat)) {
      target = this.#previous.target(old);
    } else {
      try {
        target = this.#fileSystem.readlink(level.dir, name);
      } catch (error) {
        if (isMoved(error)) return 'moved';
        if (isDenied(error)) return this.#unreadable(level, name, stat, old, error);
        throw error;
      }
    }
    const row = this.#keep(level, name, 'symlink', stat, old);
    this.#table.setTarget(row, target);
    if (
      old === none ||
      this.#previous.kind(old) !== 'symlink' ||
      !equalBytes(this.#previous.target(old), target)
    ) {
      level.clean = false;
    }
    return 'done';
  }

  *#lookAtFile(level: Level, name: Uint8Array, seen: Stat, old: number): Generator<void, Outcome> {
    if (seen.size > this.#rules.limits.fileBytes) {
      this.#omit(level, name, 'limit', seen, old);
      return 'done';
    }
    if (this.#vouches(old, seen)) {
      const key = this.#previous.key(old);
      if (seen.size === 0 || this.#sink.has('file', key)) {
        this.#keepFile(level, name, seen, key, old, this.#previous.flags(old));
        return 'done';
      }
    }
    let file: FileHandle;
    try {
      file = this.#fileSystem.openFile(level.dir, name, 'read');
    } catch (error) {
      if (isMoved(error)) return 'moved';
      if (isDenied(error)) return this.#unreadable(level, name, seen, old, error);
      throw error;
    }
    try {
      const stat = this.#fileSystem.fstat(file);
      if (stat.kind !== 'file' || stat.size > this.#rules.limits.fileBytes) return 'moved';
      this.#ledger.checkBytes(level.path, name, stat.size);
      const reading = yield* this.#reader.read(file, stat);
      if (reading.outcome === 'moved') return 'moved';
      this.#ledger.totals.filesRead += 1;
      if (!reading.steady) this.#ledger.race(joinPath(level.path, name));
      const key = reading.stat.size === 0 ? emptyFileKey : reading.key;
      this.#keepFile(level, name, reading.stat, key, old, reading.steady ? 0 : racyFlag);
      return 'done';
    } finally {
      this.#fileSystem.close(file);
    }
  }

  #keepFile(level: Level, name: Uint8Array, stat: Stat, key: Uint8Array, old: number, flags: number): void {
    this.#ledger.checkBytes(level.path, name, stat.size);
    const row = this.#keep(level, name, 'file', stat, old);
    this.#table.setKey(row, key);
    this.#table.setFlags(row, flags);
    this.#countFile(level, name, stat.size, stat.mode);
    if (
      old === none ||
      this.#previous.kind(old) !== 'file' ||
      !this.#sameMode(row, old) ||
      this.#previous.size(old) !== stat.size ||
      !equalBytes(this.#previous.key(old), key)
    ) {
      level.clean = false;
    }
  }

  /** Adds a row for an entry, checking every limit that concerns it. */
  #keep(level: Level, name: Uint8Array, kind: EntryKind, stat: Stat, old: number): number {
    this.#ledger.countEntry(level.path, name, this.#levels.length);
    const row = level.first + level.kept;
    level.kept += 1;
    this.#table.setNode(row, name, kind, stat, old === none ? undefined : old);
    return row;
  }

  #countFile(level: Level, name: Uint8Array, size: number, mode: number): void {
    this.#ledger.countFile(size);
    if ((mode & 0o7000) !== 0) this.#ledger.drops(joinPath(level.path, name.slice()), { mode });
  }

  #unreadable(level: Level, name: Uint8Array, stat: Stat | undefined, old: number, cause?: unknown): Outcome {
    if (this.#rules.onUnreadable === 'fail') {
      throw new UnreadableError(encodePathText(joinPath(level.path, name)), { cause });
    }
    this.#omit(level, name, 'unreadable', stat, old);
    return 'done';
  }

  #omit(
    level: Level,
    name: Uint8Array,
    reason: OmitReason | 'ignored',
    stat: Stat | undefined,
    old: number,
  ): void {
    if (old !== none) level.clean = false;
    this.#ledger.omit(level.path, name, reason, stat);
  }

  /** Tells whether the previous row still speaks for the node's content. */
  #vouches(old: number, stat: Stat): boolean {
    return old !== none && this.#rules.trustSignatures && this.#previous.vouches(old, stat);
  }

  #sameMode(row: number, old: number): boolean {
    return (this.#table.mode(row) & 0o777) === (this.#previous.mode(old) & 0o777);
  }
}

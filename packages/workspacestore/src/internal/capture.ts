import { encodePathText, equalBytes } from '@holdfast/base';
import { type DirHandle, type FileHandle, type FileSystem, lstatHint, type Stat } from '@holdfast/durable';

import { UnreadableError } from '../errors.js';
import type { EntryKind, OmitReason } from '../tree.js';
import { ByteWriter } from './byte-writer.js';
import { CaptureLedger, isDenied, isMoved } from './capture-ledger.js';
import { findOld, type Level, none, progressThrough } from './capture-level.js';
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

/** What became of one look at an entry: done, or it moved under the look. */
type Look = 'done' | 'moved';

const attempts = 4;

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
  readonly #reader: FileReader;
  readonly #table = new StatTable();
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
    this.#previous = previous ?? new StatTable();
    this.#sink = sink;
    this.#reader = new FileReader(fileSystem, sink);
    this.#ledger = new CaptureLedger(rules);
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
    const row = this.#table.allocate(1);
    this.#table.setNode(row, new Uint8Array(0), 'directory', stat);
    try {
      this.#enter(root, new Uint8Array(0), row, stat, this.#previous.rows > 0 ? 0 : none);
      this.#ledger.drops(new Uint8Array(0), stat);
      for (let level = this.#levels.at(-1); level !== undefined; level = this.#levels.at(-1)) {
        const name = level.names[level.next];
        level.next += 1;
        if (name === undefined) this.#leave(level);
        else {
          const old = findOld(level, this.#previous, name);
          if (!this.#passOver(level, name, old))
            yield* this.#capture(level, level.listed ? name.slice() : name, old);
        }
        yield;
      }
    } finally {
      for (const level of this.#levels) if (level.dir !== root) this.#fileSystem.close(level.dir);
    }
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
    const names = listed
      ? previous.childNames(known)
      : this.#fileSystem.readdir(dir).sort((a, b) => Buffer.compare(a, b));
    this.#ledger.checkNames(path, names.length);
    if (known !== none) this.#scouted?.reach(previous.first(known));
    const first = this.#table.allocate(names.length);
    const at = { dir, path, row, before, names, listed, first };
    this.#levels.push({ ...at, ...progressThrough(previous, known) });
  }

  #leave(level: Level): void {
    const { before, names } = level;
    const after = this.#fileSystem.fstat(level.dir);
    const moved = after.mtimeNs !== before.mtimeNs || after.ctimeNs !== before.ctimeNs;
    if (moved) this.#ledger.race(level.path);
    // Later captures need not read the directory again: adding and removing a name moves both of its times.
    else if (level.kept === names.length && before.ctimeNs < this.#rules.racyFromNs)
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

  /**
   * Takes over the previous row of a file or link that was not touched since, which is most of them. The look is by path:
   * quicker, and good for exactly this. `false` when it takes more to tell.
   */
  #passOver(level: Level, name: Uint8Array, old: number): boolean {
    if (old === none) return false;
    const previous = this.#previous;
    const kind = previous.kind(old);
    if (kind === 'directory' || this.#mayLeaveOut(level, name) || !this.#isUntouched(level, name, old))
      return false;
    if (kind === 'file') {
      const size = previous.size(old);
      if (size > this.#rules.limits.fileBytes) return false;
      if (size > 0 && !this.#sink.has('file', previous.key(old))) return false;
      this.#ledger.checkBytes(level.path, name, size);
    }
    const row = this.#nextRow(level, name);
    this.#table.copyNode(row, previous, old);
    this.#flagRacy(row, previous.ctimeNs(old));
    if (kind === 'file') this.#countFile(level, name, previous.size(old), previous.mode(old));
    return true;
  }

  /** A look by path, or that of the scout, whose notes hold where no name came or went. */
  #isUntouched(level: Level, name: Uint8Array, old: number): boolean {
    if (level.listed && this.#scouted?.saw(old) === true) return true;
    const hint = lstatHint(this.#fileSystem, level.dir, name);
    return hint?.dev === level.before.dev && this.#vouches(old, hint);
  }

  /** Whether reserved names or ignore rules have a say about an entry that is no directory. */
  #mayLeaveOut(level: Level, name: Uint8Array): boolean {
    const { ignore } = this.#rules;
    if (this.#reserved.has(level.path, name)) return true;
    return !ignore.isEmpty && ignore.matches(joinPath(level.path, name.slice()), false);
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

  *#look(level: Level, name: Uint8Array, old: number): Generator<void, Look> {
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

  #lookAtDirectory(level: Level, name: Uint8Array, seen: Stat | undefined, old: number): Look {
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
      const row = this.#keep(level, name, 'directory', stat);
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

  #lookAtSymlink(level: Level, name: Uint8Array, stat: Stat, old: number): Look {
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
    const row = this.#keep(level, name, 'symlink', stat);
    this.#table.setTarget(row, target);
    this.#flagRacy(row, stat.ctimeNs);
    if (
      old === none ||
      this.#previous.kind(old) !== 'symlink' ||
      !equalBytes(this.#previous.target(old), target)
    ) {
      level.clean = false;
    }
    return 'done';
  }

  *#lookAtFile(level: Level, name: Uint8Array, seen: Stat, old: number): Generator<void, Look> {
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
    const row = this.#keep(level, name, 'file', stat);
    this.#table.setKey(row, key);
    this.#table.setFlags(row, flags);
    this.#flagRacy(row, stat.ctimeNs);
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
  #keep(level: Level, name: Uint8Array, kind: EntryKind, stat: Stat): number {
    const row = this.#nextRow(level, name);
    this.#table.setNode(row, name, kind, stat);
    return row;
  }

  #nextRow(level: Level, name: Uint8Array): number {
    this.#ledger.countEntry(level.path, name, this.#levels.length);
    level.kept += 1;
    return level.first + level.kept - 1;
  }

  #countFile(level: Level, name: Uint8Array, size: number, mode: number): void {
    this.#ledger.countFile(size);
    if ((mode & 0o7000) !== 0) this.#ledger.drops(joinPath(level.path, name.slice()), { mode });
  }

  #unreadable(level: Level, name: Uint8Array, stat: Stat | undefined, old: number, cause?: unknown): Look {
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

  #flagRacy(row: number, ctimeNs: bigint): void {
    if (ctimeNs >= this.#rules.racyFromNs) this.#table.setFlags(row, this.#table.flags(row) | racyFlag);
  }

  #sameMode(row: number, old: number): boolean {
    return (this.#table.mode(row) & 0o777) === (this.#previous.mode(old) & 0o777);
  }
}

import type { FileSystem } from '@holdfast/durable';

import type { CaptureLedger } from './capture-ledger.js';
import type { Level } from './capture-level.js';
import type { ObjectSink } from './capture-types.js';
import { joinPath } from './entry-path.js';
import type { IgnoreMatcher } from './ignore-matcher.js';
import { Look } from './look.js';
import type { ReservedPaths } from './reserved-paths.js';
import type { Scouted } from './scout.js';
import type { StatTable } from './stat-table.js';

interface Parts {
  readonly fileSystem: FileSystem;
  readonly previous: StatTable;
  readonly ignore: IgnoreMatcher;
  readonly reserved: ReservedPaths;
  readonly sink: ObjectSink;
  readonly ledger: CaptureLedger;
  readonly scouted: Scouted | undefined;
}

/**
 * Says of previous rows that they hold as they are, which most of them do: what a capture does for every entry of a tree
 * in which nothing changed, and all that it does. Makes few objects.
 */
export class UntouchedRows {
  readonly #parts: Parts;
  /** None where signatures are not to be trusted. */
  #look: Look | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Before, no row holds. @param device That of the tree. */
  begin(device: bigint): void {
    this.#look = new Look(this.#parts.fileSystem, device);
  }

  /**
   * Whether the previous row of a file or link holds as it is; counts it if so, as the next one of its directory. The look
   * is by path: quicker, and good for exactly this. `false` when it takes more to tell.
   * @param depth Of the entry.
   */
  takes(level: Level, old: number, depth: number): boolean {
    const { previous, ledger, sink } = this.#parts;
    const kind = previous.kind(old);
    if (kind === 'directory') return false;
    if (level.filtered && this.#mayLeaveOut(level, previous.name(old))) return false;
    if (!this.#isUntouched(level, old)) return false;
    let size: number | undefined;
    if (kind === 'file') {
      size = previous.size(old);
      if (size > 0 && !sink.has('file', previous.key(old))) return false;
      // What is not captured of them is reported each time.
      if ((previous.mode(old) & 0o7000) !== 0) return false;
    }
    if (!ledger.countUntouched(level.path, previous.nameLength(old), depth, size)) return false;
    level.kept += 1;
    return true;
  }

  /** A look by path, or that of the scout, whose notes hold where no name came or went. */
  #isUntouched(level: Level, old: number): boolean {
    const { previous, scouted } = this.#parts;
    if (level.names === undefined && scouted?.saw(old) === true) return true;
    const look = this.#look;
    return look?.at(level.dir, previous.name(old)) === true && previous.vouchesFor(old, look);
  }

  /** Whether reserved names or ignore rules have a say about an entry that is no directory. */
  #mayLeaveOut(level: Level, name: Uint8Array): boolean {
    const { ignore, reserved } = this.#parts;
    if (reserved.has(level.path, name)) return true;
    return !ignore.isEmpty && ignore.matches(joinPath(level.path, name.slice()), false);
  }
}

import { encodePathText } from '@holdfast/base';
import { FileSystemError, type Stat } from '@holdfast/durable';

import { ArchiveLimitError, TreeChangedError } from '../errors.js';
import type { LimitName } from '../limits.js';
import type { OmitReason } from '../tree.js';
import type { CaptureDrop, CaptureOmission, CaptureRules, CaptureTotals } from './capture-types.js';
import { byteText, joinPath } from './entry-path.js';

/** What a capture has counted, left out and seen moving; enforces the limits. */
export class CaptureLedger {
  readonly totals: CaptureTotals = { entries: 0, files: 0, bytes: 0, filesRead: 0, bytesRead: 0 };
  readonly dropped: CaptureDrop[] = [];
  readonly #rules: CaptureRules;
  readonly #omitted: CaptureOmission[] = [];
  readonly #raced = new Map<string, Uint8Array>();

  constructor(rules: CaptureRules) {
    this.#rules = rules;
  }

  /** Everything left out, in ascending byte order of paths. */
  get omitted(): readonly CaptureOmission[] {
    return this.#omitted.sort((a, b) => Buffer.compare(a.path, b.path));
  }

  get raced(): readonly Uint8Array[] {
    return [...this.#raced.values()];
  }

  /** Counts an entry at a depth and checks its name, path and depth. */
  countEntry(directory: Uint8Array, name: Uint8Array, depth: number): void {
    const { limits } = this.#rules;
    const pathBytes = directory.length === 0 ? name.length : directory.length + 1 + name.length;
    if (name.length > limits.nameBytes) this.#exceeded('nameBytes', name.length, directory, name);
    if (pathBytes > limits.pathBytes) this.#exceeded('pathBytes', pathBytes, directory, name);
    if (depth > limits.depth) this.#exceeded('depth', depth, directory, name);
    this.totals.entries += 1;
    if (this.totals.entries > limits.entries) this.#exceeded('entries', this.totals.entries, directory, name);
  }

  /**
   * Counts an entry that is as it was, with its bytes if it is a file. `false`, and nothing is counted, when that would
   * exceed a limit: to say which is left to the calls that refuse.
   */
  countUntouched(
    directory: Uint8Array,
    nameLength: number,
    depth: number,
    fileBytes: number | undefined,
  ): boolean {
    const { limits } = this.#rules;
    const { totals } = this;
    const pathBytes = directory.length === 0 ? nameLength : directory.length + 1 + nameLength;
    if (nameLength > limits.nameBytes || pathBytes > limits.pathBytes || depth > limits.depth) return false;
    if (totals.entries >= limits.entries) return false;
    if (fileBytes !== undefined) {
      if (fileBytes > limits.fileBytes || totals.bytes + fileBytes > limits.bytes) return false;
      this.countFile(fileBytes);
    }
    totals.entries += 1;
    return true;
  }

  /** Refuses a directory that could not be captured whatever is left out of it, before anything is kept for it. */
  checkNames(directory: Uint8Array, count: number): void {
    const { entries } = this.#rules.limits;
    if (count > 2 * entries - this.totals.entries)
      this.#exceeded('entries', this.totals.entries + count, directory);
  }

  /** Refuses a file that would take the sum of all files over the limit; call it before reading. */
  checkBytes(directory: Uint8Array, name: Uint8Array, size: number): void {
    if (this.totals.bytes + size > this.#rules.limits.bytes) {
      this.#exceeded('bytes', this.totals.bytes + size, directory, name);
    }
  }

  countFile(size: number): void {
    this.totals.files += 1;
    this.totals.bytes += size;
  }

  omit(
    directory: Uint8Array,
    name: Uint8Array,
    reason: OmitReason | 'ignored',
    stat: Stat | undefined,
  ): void {
    this.#omitted.push({ path: joinPath(directory, name), reason, kind: stat?.kind ?? 'other', stat });
    if (this.#omitted.length > this.#rules.limits.entries) {
      this.#exceeded('entries', this.#omitted.length, directory, name);
    }
  }

  /** Notes that something moved; a quiescent capture ends here. */
  race(path: Uint8Array): void {
    if (this.#rules.quiescent) throw new TreeChangedError(encodePathText(path));
    this.#raced.set(byteText(path), path);
  }

  /** Notes mode bits that a tree does not hold. */
  drops(path: Uint8Array, stat: { readonly mode: number }): void {
    if ((stat.mode & 0o4000) !== 0) this.dropped.push({ path, what: 'setuid' });
    if ((stat.mode & 0o2000) !== 0) this.dropped.push({ path, what: 'setgid' });
    if ((stat.mode & 0o1000) !== 0) this.dropped.push({ path, what: 'sticky' });
  }

  #exceeded(limit: LimitName, observed: number, directory: Uint8Array, name?: Uint8Array): never {
    const where = name === undefined ? directory : joinPath(directory, name);
    throw new ArchiveLimitError(
      limit,
      this.#rules.limits[limit],
      observed,
      encodePathText(where.subarray(0, 4096)),
    );
  }
}

/** Tells whether a failed call means that the node is no longer what it was a moment ago. */
export function isMoved(error: unknown): boolean {
  return (
    FileSystemError.is(error) &&
    ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EINVAL', 'ESTALE'].includes(error.errno)
  );
}

/** Tells whether a call was refused for lack of permission; a failing disk is something else. */
export function isDenied(error: unknown): boolean {
  return FileSystemError.is(error) && (error.errno === 'EACCES' || error.errno === 'EPERM');
}

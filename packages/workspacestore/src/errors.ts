import { HoldfastError, type HoldfastErrorOptions, quote } from '@holdfast/base';

import type { LimitName } from './limits.js';

type Cause = Pick<HoldfastErrorOptions, 'cause'>;

/** Capturing `root` failed for a reason that no class below states; the cause tells which. No ref exists. */
export class SnapshotError extends HoldfastError {
  static override readonly code = 'WORKSPACE_SNAPSHOT';
  declare readonly code: 'WORKSPACE_SNAPSHOT';
  declare readonly root: string;

  constructor(root: string, options: Cause = {}) {
    super(`snapshot of ${quote(root)} failed${because(options.cause)}`, { ...options, fields: { root } });
  }
}

/** Building the tree of `ref` at `dest` failed; nothing is visible at `dest` that was not there before. */
export class MaterializeError extends HoldfastError {
  static override readonly code = 'WORKSPACE_MATERIALIZE';
  declare readonly code: 'WORKSPACE_MATERIALIZE';
  declare readonly ref: string;
  declare readonly dest: string;

  constructor(ref: string, dest: string, options: Cause = {}) {
    super(`materializing ${ref} at ${quote(dest)} failed${because(options.cause)}`, {
      ...options,
      fields: { ref, dest },
    });
  }
}

/** The destination holds something else than the ref; it was left as it is. */
export class DestNotEmptyError extends HoldfastError {
  static override readonly code = 'WORKSPACE_DEST_NOT_EMPTY';
  declare readonly code: 'WORKSPACE_DEST_NOT_EMPTY';
  declare readonly dest: string;
  /** Tree key that was wanted. */
  declare readonly want: string;
  /** Tree key that was found; absent when the destination could not be read as a tree. */
  declare readonly got: string | undefined;
  /** The first differing paths, as text. */
  declare readonly differences: readonly string[];

  constructor(dest: string, want: string, got: string | undefined, differences: readonly string[]) {
    super(
      `destination ${quote(dest)} is not empty and differs from the wanted tree, first at ${quote(differences[0] ?? '.')}; choose a missing or empty directory`,
      { fields: { dest, want, got, differences: differences.slice(0, 20) }, effect: 'none' },
    );
  }
}

/** Stored bytes contradict their name, or something that a snapshot needs is damaged. Never means "not found". */
export class IntegrityError extends HoldfastError {
  static override readonly code = 'WORKSPACE_INTEGRITY';
  declare readonly code: 'WORKSPACE_INTEGRITY';
  /** The snapshot that was read, where one was. */
  declare readonly ref: string | undefined;
  /** Path inside the snapshot, or the name of the stored object. */
  declare readonly path: string;
  declare readonly expected: string;
  declare readonly got: string;

  constructor(
    facts: {
      readonly ref?: string | undefined;
      readonly path: string;
      readonly expected: string;
      readonly got: string;
    },
    options: Cause = {},
  ) {
    super(`${quote(facts.path)} is damaged: expected ${facts.expected}, found ${facts.got}`, {
      ...options,
      fields: { ref: facts.ref, path: facts.path, expected: facts.expected, got: facts.got },
    });
  }
}

/** An archive that the snapshot needs is gone and nothing replaces it: the snapshot was collected. */
export class CollectedError extends HoldfastError {
  static override readonly code = 'WORKSPACE_COLLECTED';
  declare readonly code: 'WORKSPACE_COLLECTED';
  declare readonly ref: string;
  declare readonly archive: string;

  constructor(ref: string, archive: string, options: Cause = {}) {
    super(`archive ${archive} of ${ref} is gone: the snapshot was collected or its store is incomplete`, {
      ...options,
      fields: { ref, archive },
    });
  }
}

/** A tar stream was refused as a whole because of one entry; nothing of it was stored. */
export class ArchiveEntryError extends HoldfastError {
  static override readonly code = 'WORKSPACE_ARCHIVE_ENTRY';
  declare readonly code: 'WORKSPACE_ARCHIVE_ENTRY';
  /** Name of the entry as text, as far as it could be read. */
  declare readonly entry: string;
  declare readonly reason: ArchiveEntryReason;

  constructor(entry: string, reason: ArchiveEntryReason, detail: string) {
    super(`archive entry ${quote(entry)} is refused (${reason}): ${detail}`, {
      fields: { entry, reason },
      effect: 'none',
    });
  }
}

/** Why a tar stream was refused. */
export type ArchiveEntryReason =
  | 'malformed'
  | 'truncated'
  | 'name-invalid'
  | 'name-not-utf8'
  | 'collision'
  | 'type-unsupported'
  | 'link-forbidden'
  | 'metadata-range';

/** A tree is larger than a limit allows. */
export class ArchiveLimitError extends HoldfastError {
  static override readonly code = 'WORKSPACE_ARCHIVE_LIMIT';
  declare readonly code: 'WORKSPACE_ARCHIVE_LIMIT';
  declare readonly limit: LimitName | 'header' | 'ratio';
  declare readonly cap: number;
  /** The first observed value above the cap; the true value may be larger. */
  declare readonly observed: number;

  constructor(limit: LimitName | 'header' | 'ratio', cap: number, observed: number, where: string) {
    super(
      `limit ${limit} is exceeded at ${quote(where)}: at most ${cap}, found ${observed}; raise the limit or leave the entry out`,
      {
        fields: { limit, cap, observed, where },
        effect: 'none',
      },
    );
  }
}

/** A path kept changing while it was read. */
export class TreeChangedError extends HoldfastError {
  static override readonly code = 'WORKSPACE_TREE_CHANGED';
  declare readonly code: 'WORKSPACE_TREE_CHANGED';
  declare readonly path: string;

  constructor(path: string) {
    super(`${quote(path)} changed while it was read; repeat when nothing writes to it`, { fields: { path } });
  }
}

/** What stands where a directory was expected. */
export type FoundNode = 'missing' | 'symlink' | 'file' | 'special';

/** A root or destination is not a directory. */
export class NotDirectoryError extends HoldfastError {
  static override readonly code = 'WORKSPACE_NOT_DIRECTORY';
  declare readonly code: 'WORKSPACE_NOT_DIRECTORY';
  declare readonly path: string;
  declare readonly found: FoundNode;

  constructor(path: string, found: FoundNode) {
    super(
      `${quote(path)} must be a directory; found ${found === 'missing' ? 'nothing' : `a ${found} node`}`,
      {
        fields: { path, found },
        effect: 'none',
      },
    );
  }
}

/** Something in the tree, or the root itself, may not be read and was not asked to be left out. */
export class UnreadableError extends HoldfastError {
  static override readonly code = 'WORKSPACE_UNREADABLE';
  declare readonly code: 'WORKSPACE_UNREADABLE';
  declare readonly path: string;

  constructor(path: string, options: Cause = {}) {
    super(
      `${quote(path)} may not be read${because(options.cause)}; grant access or capture with onUnreadable "omit"`,
      {
        ...options,
        fields: { path },
        effect: 'none',
      },
    );
  }
}

/** The store has no complete record of the ref. */
export class RefNotFoundError extends HoldfastError {
  static override readonly code = 'WORKSPACE_REF_NOT_FOUND';
  declare readonly code: 'WORKSPACE_REF_NOT_FOUND';
  declare readonly ref: string;

  constructor(ref: string) {
    super(`ref ${quote(ref)} is not in this store`, { fields: { ref } });
  }
}

/** Several refs of the store start with the given digits. */
export class AmbiguousRefError extends HoldfastError {
  static override readonly code = 'WORKSPACE_AMBIGUOUS_REF';
  declare readonly code: 'WORKSPACE_AMBIGUOUS_REF';
  declare readonly prefix: string;
  declare readonly matches: readonly string[];

  constructor(prefix: string, matches: readonly string[]) {
    super(`ref prefix ${quote(prefix)} has ${matches.length} or more matches; give more digits`, {
      fields: { prefix, matches },
    });
  }
}

/** A snapshot has no entry at the path, or one of another kind than the call needs. */
export class EntryNotFoundError extends HoldfastError {
  static override readonly code = 'WORKSPACE_ENTRY_NOT_FOUND';
  declare readonly code: 'WORKSPACE_ENTRY_NOT_FOUND';
  declare readonly ref: string;
  declare readonly path: string;
  /** What is there instead. */
  declare readonly found: 'file' | 'directory' | 'symlink' | undefined;

  constructor(
    ref: string,
    path: string,
    wanted: 'entry' | 'file' | 'directory',
    found?: EntryNotFoundError['found'],
  ) {
    const instead = found === undefined ? '' : `: it is a ${found}; list it to see what it ${leads[found]}`;
    super(`${ref} has no ${wanted} at ${quote(path)}${instead}`, {
      fields: { ref, path, wanted, ...(found === undefined ? {} : { found }) },
    });
  }
}

const leads = { file: 'is', directory: 'holds', symlink: 'leads to' } as const;

/** Something stored has a version or kind that this release cannot read. */
export class UnsupportedFormatError extends HoldfastError {
  static override readonly code = 'WORKSPACE_UNSUPPORTED_FORMAT';
  declare readonly code: 'WORKSPACE_UNSUPPORTED_FORMAT';
  declare readonly version: string;
  declare readonly where: string;

  constructor(version: string, where: string) {
    super(`${quote(where)} has the unsupported format ${quote(version)}; a newer release may read it`, {
      fields: { version, where },
    });
  }
}

/** A garbage collection could not go on; nothing was deleted unless its decision was already durable. */
export class CollectError extends HoldfastError {
  static override readonly code = 'WORKSPACE_COLLECT';
  declare readonly code: 'WORKSPACE_COLLECT';
  /** The step that failed. */
  declare readonly operation: string;
  declare readonly ref: string | undefined;

  constructor(
    operation: string,
    detail: string,
    options: Cause & { readonly ref?: string | undefined } = {},
  ) {
    super(`collect: ${operation} failed: ${detail}`, {
      cause: options.cause,
      fields: { operation, ref: options.ref },
    });
  }
}

/** A tree and the store's own directories contain each other. */
export class PersistencePathError extends HoldfastError {
  static override readonly code = 'WORKSPACE_PERSISTENCE_PATH';
  declare readonly code: 'WORKSPACE_PERSISTENCE_PATH';
  declare readonly path: string;
  declare readonly storagePath: string;

  constructor(path: string, storagePath: string) {
    super(
      `directory ${quote(path)} and the store's own directory ${quote(storagePath)} contain each other; keep them apart`,
      { fields: { path, storagePath }, effect: 'none' },
    );
  }
}

/** Why a cache directory was refused. */
export type CacheDirectoryRule = 'foreign' | 'writable-by-others';

/** The cache directory could be written by others, who could make the store believe wrong things about files. */
export class CacheDirectoryError extends HoldfastError {
  static override readonly code = 'WORKSPACE_CACHE_DIRECTORY';
  declare readonly code: 'WORKSPACE_CACHE_DIRECTORY';
  declare readonly path: string;
  declare readonly rule: CacheDirectoryRule;

  constructor(path: string, rule: CacheDirectoryRule) {
    super(`cache directory ${quote(path)} is ${rule}: expected one that only this user can write`, {
      fields: { path, rule },
      effect: 'none',
    });
  }
}

/** The store was closed. */
export class WorkspaceClosedError extends HoldfastError {
  static override readonly code = 'WORKSPACE_CLOSED';
  declare readonly code: 'WORKSPACE_CLOSED';

  constructor() {
    super('this workspace store is closed', { effect: 'none' });
  }
}

/** The codes of every error this package raises. */
export type WorkspaceErrorCode =
  | 'WORKSPACE_INVALID_REF'
  | 'WORKSPACE_SNAPSHOT'
  | 'WORKSPACE_MATERIALIZE'
  | 'WORKSPACE_DEST_NOT_EMPTY'
  | 'WORKSPACE_INTEGRITY'
  | 'WORKSPACE_COLLECTED'
  | 'WORKSPACE_ARCHIVE_ENTRY'
  | 'WORKSPACE_ARCHIVE_LIMIT'
  | 'WORKSPACE_TREE_CHANGED'
  | 'WORKSPACE_NOT_DIRECTORY'
  | 'WORKSPACE_UNREADABLE'
  | 'WORKSPACE_REF_NOT_FOUND'
  | 'WORKSPACE_AMBIGUOUS_REF'
  | 'WORKSPACE_ENTRY_NOT_FOUND'
  | 'WORKSPACE_UNSUPPORTED_FORMAT'
  | 'WORKSPACE_COLLECT'
  | 'WORKSPACE_PERSISTENCE_PATH'
  | 'WORKSPACE_CACHE_DIRECTORY'
  | 'WORKSPACE_CLOSED';

function because(cause: unknown): string {
  return cause instanceof Error ? `: ${cause.message}` : '';
}

import { encodePathText, HoldfastError, quote } from '@holdfast/base';

import type { NodeKind } from './file-system.js';

/** A system call failed. `errno` is the system's own code; `path` is for people and may be escaped. */
export class FileSystemError extends HoldfastError {
  static override readonly code = 'DURABLE_FILE_SYSTEM';
  declare readonly code: 'DURABLE_FILE_SYSTEM';
  /** The system call, for example `rename`. */
  declare readonly operation: string;
  /** The system's code, for example `ENOSPC`. */
  declare readonly errno: string;
  declare readonly path: string;

  constructor(operation: string, errno: string, path: string, options: { readonly cause?: unknown } = {}) {
    super(`${operation} ${quote(path)} failed with ${errno}`, {
      cause: options.cause,
      fields: { operation, errno, path },
    });
  }
}

/** Why a directory entry's name was refused. */
export type EntryNameRule = 'empty' | 'dot' | 'slash' | 'nul';

/** A name is not one path component; nothing was touched. */
export class EntryNameError extends HoldfastError {
  static override readonly code = 'DURABLE_ENTRY_NAME';
  declare readonly code: 'DURABLE_ENTRY_NAME';
  /** The name as path text. */
  declare readonly entryName: string;
  declare readonly rule: EntryNameRule;

  constructor(name: Uint8Array, rule: EntryNameRule) {
    const entryName = encodePathText(name.subarray(0, 300));
    super(
      `entry name ${quote(entryName)} breaks rule ${rule}: expected one path component without "/" and NUL, not "." or ".."`,
      { fields: { entryName, rule }, effect: 'none' },
    );
  }
}

/** An open file or directory was used after it was closed. */
export class HandleClosedError extends HoldfastError {
  static override readonly code = 'DURABLE_HANDLE_CLOSED';
  declare readonly code: 'DURABLE_HANDLE_CLOSED';
  declare readonly operation: string;

  constructor(operation: string) {
    super(`${operation} on a file or directory that was closed: open it again or retain it for longer`, {
      fields: { operation },
      effect: 'none',
    });
  }
}

/**
 * A sync failed, now or earlier, on this open file or directory. What was written since the last good sync may or may
 * not be there, and no later sync can tell: close it and treat the object as not written.
 */
export class SyncFailedError extends HoldfastError {
  static override readonly code = 'DURABLE_SYNC_FAILED';
  declare readonly code: 'DURABLE_SYNC_FAILED';
  /** The system's code of the failed sync. */
  declare readonly errno: string;
  declare readonly path: string;

  constructor(errno: string, path: string, options: { readonly cause?: unknown } = {}) {
    super(
      `sync of ${quote(path)} failed with ${errno}: the failure is final, close it and write again elsewhere`,
      {
        cause: options.cause,
        fields: { errno, path },
        effect: 'unknown',
      },
    );
  }
}

/** The name that was to be given is taken by something else; it was left as it is. */
export class NameTakenError extends HoldfastError {
  static override readonly code = 'DURABLE_NAME_TAKEN';
  declare readonly code: 'DURABLE_NAME_TAKEN';
  /** The name as path text. */
  declare readonly entryName: string;

  constructor(name: Uint8Array, options: { readonly cause?: unknown } = {}) {
    const entryName = encodePathText(name);
    super(`${quote(entryName)} is taken: expected a free name or an empty directory`, {
      cause: options.cause,
      fields: { entryName },
      effect: 'none',
    });
  }
}

/** What a source yielded is not what the caller announced; nothing was published. */
export class ContentMismatchError extends HoldfastError {
  static override readonly code = 'DURABLE_CONTENT_MISMATCH';
  declare readonly code: 'DURABLE_CONTENT_MISMATCH';
  declare readonly aspect: 'size' | 'sha256';
  declare readonly expected: string;
  declare readonly found: string;

  constructor(aspect: 'size' | 'sha256', expected: string, found: string) {
    super(`content has ${aspect} ${found}, expected ${expected}: nothing was published`, {
      fields: { aspect, expected, found },
      effect: 'none',
    });
  }
}

/** A file holds more bytes than the caller wants in memory. */
export class FileTooLargeError extends HoldfastError {
  static override readonly code = 'DURABLE_FILE_TOO_LARGE';
  declare readonly code: 'DURABLE_FILE_TOO_LARGE';
  declare readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`the file holds more than ${maxBytes} bytes: read it in pieces or raise maxBytes`, {
      fields: { maxBytes },
    });
  }
}

/** The file system has no hard links, which exclusive publishing needs; nothing was published. */
export class LinksUnsupportedError extends HoldfastError {
  static override readonly code = 'DURABLE_LINKS_UNSUPPORTED';
  declare readonly code: 'DURABLE_LINKS_UNSUPPORTED';
  /** The system's code of the refused link. */
  declare readonly errno: string;

  constructor(errno: string, options: { readonly cause?: unknown } = {}) {
    super(
      `the file system refuses hard links (${errno}): publish without exclusive, or use another file system`,
      {
        cause: options.cause,
        fields: { errno },
        effect: 'none',
      },
    );
  }
}

/** Something other than a regular file has the name; it was not read. */
export class NotAFileError extends HoldfastError {
  static override readonly code = 'DURABLE_NOT_A_FILE';
  declare readonly code: 'DURABLE_NOT_A_FILE';
  /** The name as path text. */
  declare readonly entryName: string;
  declare readonly kind: NodeKind;

  constructor(name: Uint8Array, kind: NodeKind) {
    const entryName = encodePathText(name);
    super(`${quote(entryName)} is a ${kind}, expected a regular file`, { fields: { entryName, kind } });
  }
}

/** The steps after which a failure leaves the outcome open. */
export type UncertainOperation =
  | 'publish'
  | 'replace'
  | 'append'
  | 'remove'
  | 'publish-directory'
  | 'remove-tree';

/**
 * A change failed when it may already have taken effect, now or only after a crash. Look before trying again; `cause`
 * says what failed.
 */
export class OutcomeUncertainError extends HoldfastError {
  static override readonly code = 'DURABLE_OUTCOME_UNCERTAIN';
  declare readonly code: 'DURABLE_OUTCOME_UNCERTAIN';
  declare readonly operation: UncertainOperation;
  /** The name as path text; empty for an append. */
  declare readonly entryName: string;

  constructor(operation: UncertainOperation, name: Uint8Array, options: { readonly cause: unknown }) {
    const entryName = encodePathText(name);
    super(`${operation} ${quote(entryName)} failed when it may have taken effect: look before trying again`, {
      cause: options.cause,
      fields: { operation, entryName },
      effect: 'unknown',
    });
  }
}

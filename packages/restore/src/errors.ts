import { type ErrorFields, HoldfastError, quote } from '@holdfast/base';

/** Why a restore failed. The most specific kind is the outermost one; `cause` keeps the chain. */
export type WorkspaceRestoreKind =
  /** The session is shutting down. */
  | 'closing'
  /** The session is faulted. */
  | 'faulted'
  /** A turn is running. */
  | 'not-idle'
  /** The ref is malformed, or its tree cannot be restored here. */
  | 'invalid-ref'
  /** The exclusive permit was not granted. */
  | 'permit-failed'
  /** The lease was lost, or could not be checked, immediately before the first change. */
  | 'lease-unhealthy'
  /** The safety checkpoint failed. */
  | 'safety-failed'
  /** The root is a symlink. */
  | 'symlink-root'
  /** A directory on the way to a path is a symlink. */
  | 'symlink-component'
  /** A path would leave the root. */
  | 'path-escape'
  /** The root is not the directory that it was. */
  | 'root-replaced'
  /** There is no place for scratch. */
  | 'scratch-unavailable'
  /** The swap was demanded and would lose something. */
  | 'swap-unavailable'
  /** The new content could not be fetched, written or verified. */
  | 'materialize-failed'
  /** The swap failed; the old tree is back. */
  | 'swap-failed'
  /** The reconciliation failed; the old tree is back. */
  | 'reconcile-failed'
  /** Somebody else changed what the restore would touch. */
  | 'concurrent-change'
  /** Undoing failed too; the copies are kept in `keptAt`, `cause` holds both failures. */
  | 'rollback-failed'
  /** The tree changed, but the journal could not record it. */
  | 'append-failed'
  /** An interrupted restore cannot be finished safely; nothing was deleted. */
  | 'recovery-refused'
  /** Cancelled by the library before the commit: shutdown or lease loss. */
  | 'canceled';

/** Facts of a failed restore, beyond its kind. */
export interface WorkspaceRestoreFacts {
  readonly root?: string | undefined;
  readonly ref?: string | undefined;
  readonly restoreId?: string | undefined;
  /** The paths concerned, as path text; at most a hundred. */
  readonly paths?: readonly string[] | undefined;
  /** The directory in which undo copies were kept. */
  readonly keptAt?: string | undefined;
  readonly cause?: unknown;
}

/** A restore or a recovery did not happen. Look at `kind`; unless it says otherwise the old tree is in place. */
export class WorkspaceRestoreError extends HoldfastError {
  static override readonly code = 'RESTORE_FAILED';
  declare readonly code: 'RESTORE_FAILED';
  declare readonly kind: WorkspaceRestoreKind;
  declare readonly root: string | undefined;
  declare readonly ref: string | undefined;
  declare readonly restoreId: string | undefined;
  declare readonly paths: readonly string[] | undefined;
  declare readonly keptAt: string | undefined;

  constructor(kind: WorkspaceRestoreKind, detail: string, facts: WorkspaceRestoreFacts = {}) {
    const { cause, paths, ...named } = facts;
    super(`restore failed (${kind}): ${detail}`, {
      cause,
      effect: kind === 'rollback-failed' || kind === 'append-failed' ? 'unknown' : 'none',
      fields: { kind, ...named, ...(paths === undefined ? {} : { paths: paths.slice(0, 100) }) },
    });
  }
}

/** Why a directory cannot hold scratch. */
export type ScratchUnavailableKind =
  | 'mount-point'
  | 'parent-not-writable'
  | 'filesystem-root'
  | 'not-private';

/** A restore has no place beside the root for what it prepares. The option `scratch: 'inside'` may help. */
export class ScratchUnavailableError extends HoldfastError {
  static override readonly code = 'RESTORE_SCRATCH_UNAVAILABLE';
  declare readonly code: 'RESTORE_SCRATCH_UNAVAILABLE';
  declare readonly root: string;
  declare readonly kind: ScratchUnavailableKind;

  constructor(root: string, kind: ScratchUnavailableKind, options: { readonly cause?: unknown } = {}) {
    const hint =
      kind === 'not-private'
        ? 'remove it, or make it a directory that only its owner can enter'
        : "use the option scratch: 'inside' (--scratch inside)";
    super(`no scratch for ${quote(root)}: ${reasonText[kind]}; ${hint}`, {
      cause: options.cause,
      effect: 'none',
      fields: { root, kind },
    });
  }
}

const reasonText: Readonly<Record<ScratchUnavailableKind, string>> = {
  'mount-point': 'the root is a mount point, so nothing beside it is on its file system',
  'parent-not-writable': 'its parent directory cannot be written',
  'filesystem-root': 'the root of a file system has nothing beside it',
  'not-private': 'something else has the name of the scratch directory',
};

/** Which rule a target tree breaks. */
export type TargetRule =
  | 'name'
  | 'duplicate'
  | 'order'
  | 'parent'
  | 'kind'
  | 'mode'
  | 'size'
  | 'link-target'
  | 'limit'
  | 'collision'
  | 'reserved';

/** A target tree is hostile or broken, or this file system cannot hold it; nothing was touched. */
export class RestoreTargetError extends HoldfastError {
  static override readonly code = 'RESTORE_TARGET_INVALID';
  declare readonly code: 'RESTORE_TARGET_INVALID';
  declare readonly rule: TargetRule;
  /** The offending path, as path text. */
  declare readonly path: string;

  constructor(rule: TargetRule, path: string, detail: string) {
    super(`target tree refused at ${quote(path)}: ${detail}`, { effect: 'none', fields: { rule, path } });
  }
}

/** Why an intent cannot be used. */
export type RestoreIntentKind = 'unknown-version' | 'damaged' | 'foreign';

/** A record of an interrupted restore cannot be read; nothing was deleted. */
export class RestoreIntentError extends HoldfastError {
  static override readonly code = 'RESTORE_INTENT_INVALID';
  declare readonly code: 'RESTORE_INTENT_INVALID';
  declare readonly kind: RestoreIntentKind;

  constructor(
    kind: RestoreIntentKind,
    detail: string,
    options: { readonly cause?: unknown; readonly fields?: ErrorFields } = {},
  ) {
    super(`restore intent refused: ${detail}`, {
      cause: options.cause,
      effect: 'none',
      fields: { kind, ...options.fields },
    });
  }
}

/** An undo copy does not have the digest that was recorded for it: something wrote to the old file meanwhile. */
export class UndoTaintedError extends HoldfastError {
  static override readonly code = 'RESTORE_UNDO_TAINTED';
  declare readonly code: 'RESTORE_UNDO_TAINTED';
  /** The live path that the copy is for, as path text. */
  declare readonly path: string;
  declare readonly kind: 'missing' | 'changed';

  constructor(path: string, kind: 'missing' | 'changed') {
    super(`the undo copy for ${quote(path)} is ${kind}; nothing was deleted`, {
      fields: { path, kind },
    });
  }
}

/** What was read back after a restore is not what was written. */
export class VerificationError extends HoldfastError {
  static override readonly code = 'RESTORE_VERIFICATION';
  declare readonly code: 'RESTORE_VERIFICATION';
  /** The paths that differ, as path text; at most a hundred. */
  declare readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    super(
      `read-back differs from the target at ${paths.slice(0, 5).map(quote).join(', ')}${paths.length > 5 ? ' and more' : ''}`,
      {
        fields: { paths: paths.slice(0, 100) },
      },
    );
  }
}

/** Every error class that this package throws. */
export type RestoreError =
  | WorkspaceRestoreError
  | ScratchUnavailableError
  | RestoreTargetError
  | RestoreIntentError
  | UndoTaintedError
  | VerificationError;

/** Every code of this package's errors. */
export type RestoreErrorCode = RestoreError['code'];

import { HoldfastError, type JsonValue, quote, textOf } from '@holdfast/base';
import { ownerText } from '@holdfast/lease';

export interface RigErrorOptions {
  readonly cause?: unknown;
}

/** What is wrong with a definition, apart from its workspace. */
export type RigDefinitionErrorKind =
  | 'duplicate-option'
  | 'unknown-option'
  | 'session-store-missing'
  | 'loop-invalid'
  | 'loop-duplicate'
  | 'tool-invalid'
  | 'tool-duplicate'
  | 'primer-unknown';

/** A rig cannot be defined like this; nothing was opened. */
export class RigDefinitionError extends HoldfastError {
  static override readonly code = 'RIG_DEFINITION_INVALID';
  declare readonly code: 'RIG_DEFINITION_INVALID';
  declare readonly kind: RigDefinitionErrorKind;
  /** The option, loop, tool or primer. */
  declare readonly subject: string;

  constructor(kind: RigDefinitionErrorKind, subject: string, detail: string) {
    super(`rig definition refused (${kind}) at ${quote(subject)}: ${detail}`, {
      fields: { kind, subject },
      effect: 'none',
    });
  }
}

/** What is wrong with the placement of the workspace. */
export type WorkspacePlacementErrorKind =
  | 'multiple-placements'
  | 'nil-store'
  | 'empty-root'
  | 'canonicalize-failed'
  | 'root-not-directory'
  | 'root-is-filesystem-root'
  | 'nil-leaser'
  | 'leaser-scope-too-small'
  | 'lease-name-invalid'
  | 'tool-without-placement';

/** The workspace cannot be placed like this; nothing was touched. */
export class WorkspacePlacementError extends HoldfastError {
  static override readonly code = 'RIG_PLACEMENT_INVALID';
  declare readonly code: 'RIG_PLACEMENT_INVALID';
  declare readonly kind: WorkspacePlacementErrorKind;
  /** As it was given; absent where the error is not about one. */
  declare readonly root: string | undefined;

  constructor(
    kind: WorkspacePlacementErrorKind,
    detail: string,
    facts: RigErrorOptions & { readonly root?: string | undefined } = {},
  ) {
    super(`workspace placement refused (${kind}): ${detail}`, {
      cause: facts.cause,
      fields: { kind, root: facts.root },
      effect: 'none',
    });
  }
}

/** What is wrong with the snapshot policy. */
export type SnapshotPolicyErrorKind =
  | 'invalid-trigger'
  | 'invalid-priority'
  | 'invalid-timeout'
  | 'required'
  | 'without-workspace'
  | 'shared-required';

/** The snapshot policy does not fit; nothing was touched. */
export class SnapshotPolicyError extends HoldfastError {
  static override readonly code = 'RIG_SNAPSHOT_POLICY_INVALID';
  declare readonly code: 'RIG_SNAPSHOT_POLICY_INVALID';
  declare readonly kind: SnapshotPolicyErrorKind;

  constructor(kind: SnapshotPolicyErrorKind, detail: string) {
    super(`snapshot policy refused (${kind}): ${detail}`, { fields: { kind }, effect: 'none' });
  }
}

/** A directory in which sessions or snapshots are kept lies in the managed directory: checkpoints would hold themselves. */
export class PersistenceOverlapError extends HoldfastError {
  static override readonly code = 'RIG_PERSISTENCE_OVERLAP';
  declare readonly code: 'RIG_PERSISTENCE_OVERLAP';
  declare readonly persistencePath: string;
  declare readonly root: string;

  constructor(persistencePath: string, root: string) {
    super(
      `${quote(persistencePath)}, which this rig writes to, lies in the managed directory ${quote(root)}: keep it outside`,
      { fields: { persistencePath, root }, effect: 'none' },
    );
  }
}

/** Why a session cannot begin with a seed. */
export type WorkspaceSeedErrorKind =
  | 'no-placement'
  | 'shared'
  | 'root-not-empty'
  | 'invalid-ref'
  | 'materialize-failed';

/** A session could not begin with the snapshot it was given; what was begun was taken back. */
export class WorkspaceSeedError extends HoldfastError {
  static override readonly code = 'RIG_SEED';
  declare readonly code: 'RIG_SEED';
  declare readonly kind: WorkspaceSeedErrorKind;
  declare readonly ref: string;

  constructor(kind: WorkspaceSeedErrorKind, ref: unknown, detail: string, options: RigErrorOptions = {}) {
    const shown = textOf(ref).slice(0, 200);
    super(`seed ${quote(shown)} refused (${kind}): ${detail}`, {
      cause: options.cause,
      fields: { kind, ref: shown },
      effect: 'none',
    });
  }
}

/** Another session has the exclusive root. */
export class WorkspaceRootBusyError extends HoldfastError {
  static override readonly code = 'RIG_ROOT_BUSY';
  declare readonly code: 'RIG_ROOT_BUSY';
  declare readonly root: string;
  declare readonly holderEpoch: number;
  /** What the holder says about itself. */
  declare readonly owner: Readonly<Record<string, JsonValue>> | undefined;

  constructor(
    root: string,
    holderEpoch: number,
    owner: Readonly<Record<string, JsonValue>> | undefined,
    options: RigErrorOptions = {},
  ) {
    const by = owner === undefined ? '' : ` by ${ownerText(owner)}`;
    super(`root ${quote(root)} is held${by} (epoch ${holderEpoch}): end that session, or use another root`, {
      cause: options.cause,
      fields: { root, holderEpoch, owner },
      effect: 'none',
    });
  }
}

/** The root lies in another live root, or another live root lies in it. */
export class WorkspaceRootNestedError extends HoldfastError {
  static override readonly code = 'RIG_ROOT_NESTED';
  declare readonly code: 'RIG_ROOT_NESTED';
  declare readonly root: string;
  declare readonly other: string;

  constructor(root: string, other: string) {
    super(`root ${quote(root)} and the live root ${quote(other)} contain each other: keep them apart`, {
      fields: { root, other },
      effect: 'none',
    });
  }
}

/** One difference between a tree and what the journal says of it. */
export type DriftDifference = {
  /** Path text. */
  readonly path: string;
  readonly what: 'added' | 'removed' | 'modified' | 'mode' | 'type';
};

/** The tree is not what the session's journal says, and the caller asked to stop then; nothing was changed. */
export class WorkspaceDriftError extends HoldfastError {
  static override readonly code = 'RIG_DRIFT';
  declare readonly code: 'RIG_DRIFT';
  declare readonly sessionId: string;
  declare readonly root: string;
  /** The ref that the journal holds as current. */
  declare readonly ref: string;
  /** The first hundred. */
  declare readonly differences: readonly DriftDifference[];

  constructor(sessionId: string, root: string, ref: string, differences: readonly DriftDifference[]) {
    const first = differences[0] === undefined ? '' : `, first ${quote(differences[0].path)}`;
    super(
      `session ${quote(sessionId)}: ${quote(root)} differs from ${ref} in ${differences.length} paths${first}; open with drift "record", "keep" or "discard"`,
      { fields: { sessionId, root, ref, differences: differences.slice(0, 100) }, effect: 'none' },
    );
  }
}

/** A session is opened with another root or mode than it was left with. */
export class WorkspaceRelocatedError extends HoldfastError {
  static override readonly code = 'RIG_RELOCATED';
  declare readonly code: 'RIG_RELOCATED';
  declare readonly sessionId: string;
  declare readonly was: string;
  declare readonly is: string;

  constructor(sessionId: string, was: string, is: string) {
    super(
      `session ${quote(sessionId)} belongs to ${was} and is opened on ${is}: use the same, or pass relocate: true`,
      { fields: { sessionId, was, is }, effect: 'none' },
    );
  }
}

/** A session could not be begun or opened, and taking back what was done failed too; the cause holds both. */
export class SessionOpeningError extends HoldfastError {
  static override readonly code = 'RIG_SESSION_OPENING';
  declare readonly code: 'RIG_SESSION_OPENING';
  declare readonly sessionId: string;

  constructor(sessionId: string, causes: readonly unknown[]) {
    super(`session ${quote(sessionId)} could not be opened, and its remains could not be removed`, {
      cause: new AggregateError(causes, 'opening failed, then taking it back'),
      fields: { sessionId },
      effect: 'unknown',
    });
  }
}

/** Every error class that this package defines. */
export type RigError =
  | RigDefinitionError
  | WorkspacePlacementError
  | SnapshotPolicyError
  | PersistenceOverlapError
  | WorkspaceSeedError
  | WorkspaceRootBusyError
  | WorkspaceRootNestedError
  | WorkspaceDriftError
  | WorkspaceRelocatedError
  | SessionOpeningError;

/** Every code of this package. */
export type RigErrorCode = RigError['code'];

import type { HoldfastError } from '@holdfast/base';
import type { SessionStore } from '@holdfast/journal';
import type { Leaser } from '@holdfast/lease';
import type { RecoveryResult, RestorePlan, RestoreReceipt } from '@holdfast/restore';
import type { RigFragment } from '@holdfast/rig';
import type {
  CollectReport,
  Ref,
  RetentionPolicy,
  SnapshotProgress,
  SnapshotResult,
  WorkspaceStore,
} from '@holdfast/workspacestore';

/** The assembled embedded stack that the commands run on. The umbrella package injects how it is opened. */
export interface LocalStack extends AsyncDisposable {
  /** Absolute, canonical. */
  readonly home: string;
  readonly store: WorkspaceStore;
  readonly sessions: SessionStore;
  /** The local journals of roots, titled with the root's path, and that of imports. */
  readonly roots: SessionStore;
  readonly leaser: Leaser;
  /** What a rig over this home needs besides loops and a workspace. */
  readonly fragment: RigFragment;
  /**
   * Takes the root's lease, recovers an interrupted restore of it and opens its local journal.
   * What recovery did is in `recovered` of the result.
   */
  openRoot(root: string, options?: OpenRootOptions): Promise<LocalRoot>;
  /**
   * Deletes what no session and no root of this home needs. Fails closed: when a journal cannot be read, or is gone, nothing
   * is deleted; a home without any journal keeps everything.
   */
  collect(options?: LocalCollectOptions): Promise<CollectReport>;
  /** Stores a plain tar stream as a snapshot, and records it in a journal of imports so that collections keep it. */
  importTar(
    stream: AsyncIterable<Uint8Array>,
    options?: Pick<LocalCaptureOptions, 'signal' | 'onProgress'>,
  ): Promise<SnapshotResult>;
  /** Yields the journals of this home that need a ref. */
  holdersOf(ref: Ref, options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<RefHolder>;
  /**
   * Yields what the journals of this home need: refs, except those that a collection was told to let go; and the journals
   * that are gone or cannot be read.
   */
  requiredRefs(options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<RequiredRef>;
  close(): Promise<void>;
}

/** Something that a journal needs, or why that cannot be told. */
export type RequiredRef =
  | (RefHolder & { readonly ref: Ref })
  | (Omit<RefHolder, 'title'> & {
      readonly title?: string | undefined;
      /** `lost`: the home has had this journal, and it is not there. */
      readonly problem: HoldfastError | 'lost';
    });

/** A journal that needs a ref. */
export interface RefHolder {
  readonly kind: 'session' | 'root';
  readonly id: string;
  /** A session's title; a root's path. */
  readonly title: string | undefined;
}

export interface LocalCollectOptions {
  /** Absent: every ref that a journal names stays. */
  readonly retention?: RetentionPolicy | undefined;
  readonly graceMs?: number | undefined;
  /**
   * Ids of journals that are gone, or their beginnings of 8 characters or more, whose snapshots are given up. Default: none; a
   * lost journal ends the collection. So does an id of no lost journal, before anything is done.
   */
  readonly forget?: readonly string[] | undefined;
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface OpenRootOptions {
  readonly scratch?: 'sibling' | 'inside' | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One directory, held under its root lease, whose snapshots and restores are recorded in its local journal. */
export interface LocalRoot extends AsyncDisposable {
  readonly root: string;
  readonly recovered: RecoveryResult;
  snapshot(options?: LocalSnapshotOptions): Promise<SnapshotResult>;
  preview(ref: Ref, options?: LocalRestoreOptions): Promise<RestorePlan>;
  restore(
    ref: Ref,
    options?: LocalRestoreOptions & { readonly plan?: RestorePlan | undefined },
  ): Promise<RestoreReceipt>;
  close(): Promise<void>;
}

export interface LocalCaptureOptions {
  readonly ignore?: readonly string[] | undefined;
  /** Files above this many bytes are left out and reported. */
  readonly maxFileSize?: number | undefined;
  readonly onUnreadable?: 'fail' | 'omit' | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: SnapshotProgress) => void) | undefined;
}

export type LocalSnapshotOptions = LocalCaptureOptions;

export interface LocalRestoreOptions extends LocalCaptureOptions {
  /** Path text of files or subtrees; everything when absent. */
  readonly paths?: readonly string[] | undefined;
  readonly prune?: 'files' | 'exact' | undefined;
  readonly onConflict?: 'fail' | 'overwrite' | 'skip' | undefined;
  readonly force?: readonly string[] | undefined;
  /** Take a safety checkpoint first, so that the restore can be undone. Default `true`. */
  readonly safety?: boolean | undefined;
}

/** How the umbrella hands its stack to the commands. */
export type OpenLocal = (
  home: string,
  options?: {
    /** Whether a home that does not exist is made; default `true`. */
    readonly create?: boolean | undefined;
    readonly signal?: AbortSignal | undefined;
  },
) => Promise<LocalStack>;

export type {
  CaptureOptions,
  Dropped,
  ScanOptions,
  Skipped,
  SnapshotOptions,
  SnapshotProgress,
  SnapshotResult,
  SnapshotStats,
} from './capture-options.js';
export type {
  CollectCounts,
  CollectOptions,
  CollectProgress,
  CollectReport,
  Explanation,
} from './collection.js';
export {
  AmbiguousRefError,
  ArchiveEntryError,
  type ArchiveEntryReason,
  ArchiveLimitError,
  CacheDirectoryError,
  type CacheDirectoryRule,
  CollectError,
  CollectedError,
  DestNotEmptyError,
  EntryNotFoundError,
  type FoundNode,
  IntegrityError,
  MaterializeError,
  NotDirectoryError,
  PersistencePathError,
  RefNotFoundError,
  SnapshotError,
  TreeChangedError,
  UnreadableError,
  UnsupportedFormatError,
  WorkspaceClosedError,
  type WorkspaceErrorCode,
} from './errors.js';
export { ignorePresets } from './ignore-presets.js';
export type { CopyOptions, CopyResult } from './internal/copy.js';
export type { Compression } from './internal/frame-codec.js';
export type { MaintainOptions, MaintainReport } from './internal/maintain.js';
export type { Materialized, MaterializeOptions } from './internal/materialize.js';
export type { WriterSession } from './internal/record.js';
export type { ImportOptions } from './internal/tar/import-tar.js';
export type { ListRow } from './internal/tree-rows.js';
export { defaultLimits, type LimitName, type Limits } from './limits.js';
export { type ContentKey, InvalidRefError, parseRef, type Ref, type RefRule, tryParseRef } from './ref.js';
export { type RetentionCandidate, type RetentionPolicy, retain } from './retention.js';
export type {
  ComparedTrees,
  EntryKind,
  LiveEntry,
  LiveOmitted,
  LiveSignature,
  LiveTree,
  OmitReason,
  OmittedEntry,
  Tree,
  TreeEntry,
} from './tree.js';
export type {
  DiffOptions,
  TextChange,
  TextDiffOptions,
  TextHunk,
  TreeChange,
  TreeDiff,
} from './tree-diff.js';
export type { VerifyOptions, VerifyProblem, VerifyReport, VerifySubject } from './verify-report.js';
export { WorkspaceStore } from './workspace-store.js';
export type {
  Builder,
  ContentSink,
  SignalOptions,
  WorkspaceStoreOptions,
} from './workspace-store-options.js';

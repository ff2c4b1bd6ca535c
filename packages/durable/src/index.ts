export { type Appended, type AppendOptions, appendDurably, appendDurablySync } from './append-durably.js';
export { type CopyOptions, copyFileContent } from './copy-file-content.js';
export { Dir } from './dir.js';
export {
  type EnsureDirectoryOptions,
  ensureChildDirectory,
  ensureChildDirectorySync,
  ensureDirectory,
  ensureDirectorySync,
} from './ensure-directory.js';
export { checkEntryName, type EntryName, entryNameBytes } from './entry-name.js';
export {
  ContentMismatchError,
  EntryNameError,
  type EntryNameRule,
  FileSystemError,
  FileTooLargeError,
  HandleClosedError,
  LinksUnsupportedError,
  NameTakenError,
  NotAFileError,
  OutcomeUncertainError,
  SyncFailedError,
  type UncertainOperation,
} from './errors.js';
export { File } from './file.js';
export type { DirHandle, FileHandle, FileSystem, NodeKind, Stat, SyncExtent } from './file-system.js';
export { hintWord, hintWords, lstatHint, typeBits } from './lstat-hint.js';
export { type NodeFileSystemOptions, nodeFileSystem } from './node-file-system.js';
export { type PublishDirectoryOptions, publishDirectory, publishDirectorySync } from './publish-directory.js';
export {
  type ContentSource,
  type PublishFileOptions,
  publishFile,
  publishFileSync,
  replaceFile,
  replaceFileSync,
} from './publish-file.js';
export { type ReadFileOptions, readFile } from './read-file.js';
export { type RemoveOptions, removeDurably, removeDurablySync } from './remove-durably.js';
export { type RemoveTreeOptions, removeTree, removeTreeSync } from './remove-tree.js';
export { openSharedDirectory, shareDirectory } from './shared-directory.js';
export { type Published, type PublishOptions, StagedFile, type StagedFileOptions } from './staged-file.js';
export {
  type SweepOptions,
  type Swept,
  sweepTemporaries,
  sweepTemporariesSync,
} from './sweep-temporaries.js';
export { type SyncTreeOptions, syncTree, syncTreeSync } from './sync-tree.js';
export {
  type OperationOptions,
  parseTemporaryName,
  type TemporaryKind,
  type TemporaryName,
  temporaryName,
} from './temporary-name.js';
export { type WalkEntry, type WalkOptions, type WalkVisitor, walkTree, walkTreeSync } from './walk.js';
export { type DiskSyncOptions, diskSync, type WholeSync } from './whole-sync.js';

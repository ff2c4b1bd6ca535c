export { Dir } from './dir.js';
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
  SyncFailedError,
} from './errors.js';
export { File } from './file.js';
export type { DirHandle, FileHandle, FileSystem, NodeKind, Stat, SyncExtent } from './file-system.js';
export { type NodeFileSystemOptions, nodeFileSystem } from './node-file-system.js';

import { Dir } from './dir.js';
import type { FileSystem } from './file-system.js';
import { AnchoredFileSystem } from './internal/disk/anchored-file-system.js';

/**
 * An open directory in a form that can be sent to another thread of this process, good as long as the handle is open
 * here; `undefined` on file systems that have no such form. Not a path to show, to keep or to give to anybody else.
 */
export function shareDirectory(dir: Dir): string | undefined {
  return dir.fileSystem instanceof AnchoredFileSystem ? dir.fileSystem.share(dir.handle()) : undefined;
}

/**
 * Opens the directory that {@link shareDirectory} named, in another thread of the same process, with a handle of its own.
 * @throws TypeError on a file system that has no such form.
 * @throws FileSystemError when it is not open any more.
 */
export function openSharedDirectory(fileSystem: FileSystem, shared: string): Dir {
  if (!(fileSystem instanceof AnchoredFileSystem)) {
    throw new TypeError('only the anchored disk opens shared directories');
  }
  return Dir.adopt(fileSystem, fileSystem.openShared(shared));
}

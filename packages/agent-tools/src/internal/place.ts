import { concatBytes, encodePathText } from '@holdfast/base';
import { type CanonicalPath, parseCanonicalPath } from '@holdfast/coordinator';
import { Dir, type FileSystem, type Stat } from '@holdfast/durable';

import { FileMissingError, WorkspacePathError } from '../errors.js';
import { isParent, maxDepth, splitNames, splitWorkspacePath } from './workspace-path.js';

/** A restore keeps its undo copies here when it may have no directory beside the root. */
const reservedName = Buffer.from('.holdfast-scratch', 'latin1');
/** As many as Linux follows. */
const maxLinks = 40;

/**
 * Where a path leads in the workspace as it is now. Found name by name, each inside a directory that is held open, so
 * nothing that is renamed or replaced meanwhile can lead out of the root. Symlinks are followed as long as they stay
 * inside. Dispose it to close the directories.
 */
export class Place implements Disposable {
  /** Path text from the root with every symlink resolved; `.` for the root. */
  readonly path: string;
  /** Its names. */
  readonly names: readonly Uint8Array[];
  /** The deepest directory on the way that exists. */
  readonly parent: Dir;
  /** Directories that are missing below `parent`, outermost first. */
  readonly missing: readonly Uint8Array[];
  /** The last name; `undefined` for the root itself. */
  readonly name: Uint8Array | undefined;
  /** What is there, by `lstat`: advice. `undefined` when there is nothing. Never a symlink. */
  readonly stat: Stat | undefined;
  /** Open when a directory is there. */
  readonly directory: Dir | undefined;
  readonly #dirs: readonly Dir[];

  constructor(way: Way, ahead: readonly Uint8Array[], stat: Stat | undefined) {
    const names = [...way.names, ...ahead];
    this.names = names;
    this.path = names.length === 0 ? '.' : encodePathText(joinNames(names));
    this.name = names.at(-1);
    this.stat = stat;
    this.missing = ahead.slice(0, -1);
    this.directory = ahead.length === 0 ? way.dir : undefined;
    this.parent = ahead.length === 0 ? way.above : way.dir;
    this.#dirs = way.dirs;
  }

  /**
   * What a change of this place touches: the outermost thing that it would make. The part of a path that is not UTF-8
   * has no canonical path; there the directory above stands for it.
   */
  scope(root: CanonicalPath): CanonicalPath {
    let scope: string = root;
    for (const name of this.names.slice(0, this.names.length - this.missing.length)) {
      const decoded = decodeName(name);
      if (decoded === undefined) break;
      scope = `${scope}/${decoded}`;
    }
    return parseCanonicalPath(scope);
  }

  [Symbol.dispose](): void {
    for (const dir of this.#dirs) dir.close();
  }
}

/**
 * Finds a place.
 * @throws WorkspacePathError when the path does not stay inside; FileMissingError when it goes up again from something
 * that does not exist.
 */
export function locate(fileSystem: FileSystem, root: string, path: string): Place {
  const ahead = splitWorkspacePath(path);
  const way = new Way(Dir.openRoot(fileSystem, root));
  try {
    let links = 0;
    for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
      if (isParent(name)) {
        if (!way.up()) throw new WorkspacePathError(path, 'outside-root');
        continue;
      }
      if (way.names.length === 0 && reservedName.equals(name)) throw new WorkspacePathError(path, 'reserved');
      const stat = way.dir.lstat(name);
      if (stat === undefined) {
        if (ahead.some(isParent)) throw new FileMissingError(path);
        return new Place(way, [name, ...ahead], undefined);
      }
      if (stat.kind === 'symlink') {
        links += 1;
        if (links > maxLinks) throw new WorkspacePathError(path, 'link-loop');
        ahead.unshift(...follow(way, name, root, path));
        continue;
      }
      if (stat.kind !== 'directory') {
        if (ahead.length > 0) throw new WorkspacePathError(path, 'not-a-directory');
        return new Place(way, [name], stat);
      }
      if (way.names.length >= maxDepth) throw new WorkspacePathError(path, 'too-deep');
      way.down(name);
    }
    return new Place(way, [], way.dir.stat());
  } catch (error) {
    for (const dir of way.dirs) dir.close();
    throw error;
  }
}

/** The names that a symlink puts in the place of its own. */
function follow(way: Way, name: Uint8Array, root: string, path: string): Uint8Array[] {
  const target = Buffer.from(way.dir.readlink(name));
  if (target[0] !== 0x2f) return splitNames(target);
  const prefix = Buffer.from(root, 'utf8');
  const inside = target.subarray(0, prefix.length).equals(prefix);
  const next = target[prefix.length];
  if (!inside || (next !== undefined && next !== 0x2f)) throw new WorkspacePathError(path, 'outside-root');
  while (way.names.length > 0) way.up();
  return splitNames(target.subarray(prefix.length));
}

/** The directories from the root down, each open. */
class Way {
  readonly dirs: Dir[];
  readonly names: Uint8Array[] = [];

  constructor(root: Dir) {
    this.dirs = [root];
  }

  get dir(): Dir {
    return this.dirs.at(-1) as Dir;
  }

  /** The directory above, or the root itself. */
  get above(): Dir {
    return this.dirs.at(-2) ?? this.dir;
  }

  down(name: Uint8Array): void {
    this.dirs.push(this.dir.openDir(name));
    this.names.push(name);
  }

  up(): boolean {
    if (this.names.pop() === undefined) return false;
    this.dirs.pop()?.close();
    return true;
  }
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeName(name: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(name);
  } catch {
    return undefined;
  }
}

/** Joins names by `/`. */
export function joinNames(names: readonly Uint8Array[]): Uint8Array {
  return concatBytes(names.flatMap((name, index) => (index === 0 ? [name] : [slash, name])));
}

const slash = Uint8Array.of(0x2f);

import { encodePathText } from '@holdfast/base';

import { Dir } from '../dir.js';
import type { FileSystem } from '../file-system.js';
import { walkTreeSync } from '../walk.js';

/** A tree as text: path → kind, mode and content, for comparing and printing. */
export type TreeText = Readonly<Record<string, string>>;

const maxBytes = 64 * 1024 * 1024;

/**
 * Describes everything below an absolute path of any file system: `directory 700`, `file 600 "text"`,
 * `symlink "target"`, `fifo 644`. Paths and contents are path text (bytes that are not UTF-8 as `\xHH`).
 */
export function readTree(fileSystem: FileSystem, path: string): TreeText {
  const tree: Record<string, string> = {};
  using root = Dir.openRoot(fileSystem, path);
  walkTreeSync(root, {
    visit: (entry) => {
      tree[encodePathText(entry.path())] = describeNode(
        entry.dir,
        entry.name,
        entry.stat.kind,
        entry.stat.mode,
      );
      return undefined;
    },
  });
  return Object.fromEntries(Object.entries(tree).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function describeNode(dir: Dir, name: Uint8Array, kind: string, mode: number): string {
  if (kind === 'symlink') return `symlink "${encodePathText(dir.readlink(name))}"`;
  const head = `${kind} ${mode.toString(8)}`;
  if (kind !== 'file') return head;
  using file = dir.openFile(name);
  return `${head} "${encodePathText(file.readAll({ maxBytes }))}"`;
}

/** What {@link writeTree} makes: text or bytes for a file, a target for a symlink; a path that ends in `/` is a directory. */
export type TreePlan = Readonly<Record<string, string | Uint8Array | { readonly link: string } | null>>;

/** Makes files (mode 600), directories (mode 700) and symlinks below an absolute path that exists; parents first. */
export function writeTree(fileSystem: FileSystem, path: string, plan: TreePlan): void {
  for (const [relative, content] of Object.entries(plan)) {
    const names = relative.split('/').filter((name) => name !== '');
    const last = names.pop();
    if (last === undefined) throw new TypeError(`writeTree: ${JSON.stringify(relative)} names nothing`);
    using dir = openPath(fileSystem, path, names);
    if (relative.endsWith('/')) {
      if (dir.lstat(last) === undefined) dir.mkdir(last);
    } else if (content === null) {
      throw new TypeError(`writeTree: ${JSON.stringify(relative)} needs content, or a "/" at its end`);
    } else if (typeof content === 'object' && 'link' in content) {
      dir.symlink(content.link, last);
    } else {
      using file = dir.createFile(last);
      file.write(typeof content === 'string' ? Buffer.from(content) : content, 0);
    }
  }
}

function openPath(fileSystem: FileSystem, path: string, names: readonly string[]): Dir {
  let dir = Dir.openRoot(fileSystem, path);
  for (const name of names) {
    if (dir.lstat(name) === undefined) dir.mkdir(name);
    const child = dir.openDir(name);
    dir.close();
    dir = child;
  }
  return dir;
}

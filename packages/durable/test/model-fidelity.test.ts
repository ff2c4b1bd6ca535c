import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Dir, type File, type FileSystem, FileSystemError, nodeFileSystem } from '@holdfast/durable';
import { ModelFileSystem, readTree } from '@holdfast/durable/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const names = ['a', 'b', 'c'];
const directories = ['.', 'x', 'y', 'x/z'];

type Command =
  | {
      readonly do: 'create' | 'mkdir' | 'rmdir' | 'unlink' | 'lstat' | 'readlink';
      readonly at: string;
      readonly name: string;
    }
  | {
      readonly do: 'write';
      readonly at: string;
      readonly name: string;
      readonly position: number;
      readonly bytes: number;
    }
  | { readonly do: 'truncate'; readonly at: string; readonly name: string; readonly size: number }
  | { readonly do: 'chmod'; readonly at: string; readonly name: string; readonly mode: number }
  | { readonly do: 'symlink'; readonly at: string; readonly name: string; readonly target: string }
  | {
      readonly do: 'rename' | 'link';
      readonly at: string;
      readonly name: string;
      readonly to: string;
      readonly newName: string;
    };

const at = fc.constantFrom(...directories);
const name = fc.constantFrom(...names, 'x', 'y', 'z');
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ do: fc.constantFrom('create', 'mkdir', 'rmdir', 'unlink', 'lstat', 'readlink'), at, name }),
  fc.record({ do: fc.constant('write'), at, name, position: fc.nat(20), bytes: fc.nat(8) }),
  fc.record({ do: fc.constant('truncate'), at, name, size: fc.nat(20) }),
  fc.record({ do: fc.constant('chmod'), at, name, mode: fc.constantFrom(0o600, 0o755, 0o4711) }),
  fc.record({ do: fc.constant('symlink'), at, name, target: fc.constantFrom('a', '../x', '/nowhere') }),
  fc.record({ do: fc.constantFrom('rename', 'link'), at, name, to: at, newName: name }),
);

/** Runs commands on a tree and writes down every outcome. */
function outcomes(fileSystem: FileSystem, path: string, commands: readonly Command[]): string[] {
  using root = Dir.openRoot(fileSystem, path);
  for (const child of ['x', 'y']) root.mkdir(child);
  using x = root.openDir('x');
  x.mkdir('z');
  const step = (run: () => string): string => {
    try {
      return run();
    } catch (error) {
      if (FileSystemError.is(error)) return error.errno;
      throw error;
    }
  };
  return commands.map((current) => step(() => perform(root, current)));
}

function perform(root: Dir, current: Command): string {
  const dir = openPath(root, current.at);
  try {
    switch (current.do) {
      case 'create':
        dir.createFile(current.name).close();
        return 'done';
      case 'mkdir':
      case 'rmdir':
      case 'unlink':
        dir[current.do](current.name);
        return 'done';
      case 'lstat': {
        const stat = dir.lstat(current.name);
        if (stat === undefined) return 'absent';
        return `${stat.kind} ${stat.mode} ${stat.kind === 'directory' ? '' : `${stat.size} ${stat.nlink}`}`;
      }
      case 'readlink':
        return Buffer.from(dir.readlink(current.name)).toString();
      case 'write':
        return change(dir, current.name, (file) =>
          file.write(Buffer.alloc(current.bytes, 65), current.position),
        );
      case 'truncate':
        return change(dir, current.name, (file) => file.truncate(current.size));
      case 'chmod':
        dir.chmodAt(current.name, current.mode);
        return 'done';
      case 'symlink':
        dir.symlink(current.target, current.name);
        return 'done';
      case 'rename':
      case 'link': {
        using to = openPath(root, current.to);
        dir[current.do](current.name, to, current.newName);
        return 'done';
      }
    }
  } finally {
    dir.close();
  }
}

function change(dir: Dir, fileName: string, run: (file: File) => void): string {
  using file = dir.openFile(fileName, 'read-write');
  run(file);
  return String(file.stat().size);
}

function openPath(root: Dir, path: string): Dir {
  let dir = root.retain();
  for (const component of path.split('/').filter((part) => part !== '.')) {
    using parent = dir;
    dir = parent.openDir(component);
  }
  return dir;
}

describe('the model', () => {
  it('answers every sequence of calls as the real disk does', () => {
    const parent = mkdtempSync(join(realpathSync(tmpdir()), 'durable-'));
    const disk = nodeFileSystem();
    let count = 0;
    try {
      fc.assert(
        fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
          count += 1;
          const path = `${parent}/${count}`;
          using root = Dir.openRoot(disk, parent);
          root.mkdir(String(count));
          const model = new ModelFileSystem();
          expect(outcomes(model, '/', commands)).toEqual(outcomes(disk, path, commands));
          expect(readTree(model, '/')).toEqual(readTree(disk, path));
        }),
        { numRuns: 300 },
      );
    } finally {
      rmSync(parent, { recursive: true, force: true });
    }
  });
});

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Dir, type FileSystem, FileSystemError, nodeFileSystem } from '@holdfast/durable';
import { ModelFileSystem } from '@holdfast/durable/testing';
import { afterEach, beforeEach, describe } from 'vitest';

/** An empty directory on one kind of disk, fresh for every test. */
export interface Disk {
  readonly fileSystem: FileSystem;
  /** Absolute path. */
  readonly path: string;
  readonly dir: Dir;
}

export interface DiskKind {
  readonly name: string;
  readonly real: boolean;
  create(): Disk & { remove(): void };
}

export const diskKinds: readonly DiskKind[] = [
  {
    name: 'model',
    real: false,
    create: () => {
      const fileSystem = new ModelFileSystem();
      const dir = Dir.openRoot(fileSystem, '/');
      dir.mkdir('base', 0o700);
      const base = dir.openDir('base');
      dir.close();
      return { fileSystem, path: '/base', dir: base, remove: () => base.close() };
    },
  },
  ...(['anchored', 'guarded'] as const).map((grade) => ({
    name: grade,
    real: true,
    create: () => {
      const path = mkdtempSync(join(realpathSync(tmpdir()), 'durable-'));
      const fileSystem = nodeFileSystem({ grade });
      const dir = Dir.openRoot(fileSystem, path);
      const remove = (): void => {
        dir.close();
        rmSync(path, { recursive: true, force: true });
      };
      return { fileSystem, path, dir, remove };
    },
  })),
];

/** Defines the same tests on every kind of disk; `disk()` is the one of the running test. */
export function onEveryDisk(name: string, define: (disk: () => Disk, kind: DiskKind) => void): void {
  onDisks(name, diskKinds, define);
}

/** The same on the real disk only, in both grades. */
export function onRealDisks(name: string, define: (disk: () => Disk, kind: DiskKind) => void): void {
  onDisks(
    name,
    diskKinds.filter((kind) => kind.real),
    define,
  );
}

function onDisks(
  name: string,
  kinds: readonly DiskKind[],
  define: (disk: () => Disk, kind: DiskKind) => void,
): void {
  for (const kind of kinds) {
    describe(`${name} (${kind.name})`, () => {
      let current: ReturnType<DiskKind['create']> | undefined;
      beforeEach(() => {
        current = kind.create();
      });
      afterEach(() => {
        current?.remove();
        current = undefined;
      });
      define(() => current as Disk, kind);
    });
  }
}

export function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

/** The code of the system error that `call` throws; `undefined` when it returns. */
export function errnoOf(call: () => unknown): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (FileSystemError.is(error)) return error.errno;
    throw error;
  }
}

/** Makes a file with some content in an open directory. */
export function put(dir: Dir, name: Uint8Array | string, content: string | Uint8Array, mode = 0o600): void {
  using file = dir.createFile(name, mode);
  file.write(typeof content === 'string' ? text(content) : content, 0);
}

/** A test for errors of a class, for `rejects.toSatisfy`. */
export function isA(Class: { is(value: unknown): boolean }): (error: unknown) => boolean {
  return (error) => Class.is(error);
}

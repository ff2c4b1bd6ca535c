import { type JsonValue, sha256Hex } from '@holdfast/base';
import { type Dir, FileSystemError } from '@holdfast/durable';
import {
  type Operation,
  type RestoreStrategy,
  reconcile,
  reservedName,
  type StrategyContext,
} from '@holdfast/restore';

/**
 * A strategy as an application could bring its own: everything is copied, nothing is linked. Slower than `reconcile` and
 * simpler; for file systems without hard links, or as a start for something else. It uses what the package exports.
 */
export function copying(): RestoreStrategy {
  // How far a commit of this process came: what was not applied is not taken back.
  const reached = new WeakMap<Dir, number>();
  return {
    contract: 'restore-strategy/1',
    name: 'copying',
    prune: 'exact',
    fallback: reconcile({ prune: 'exact' }),
    unavailable: async (context) => {
      const special = context.operations.find(
        ({ before }) => !['file', 'directory', 'symlink', undefined].includes(before?.kind),
      );
      return await Promise.resolve(special === undefined ? undefined : 'a special node cannot be copied');
    },
    stage: async (context) => {
      context.work.mkdir('new');
      context.work.mkdir('old');
      using staged = context.work.openDir('new');
      const numbers = new Map<string, number>();
      const entries = context.operations.flatMap(({ action, path, after, number }) => {
        if (action !== 'put' || after?.kind !== 'file') return [];
        numbers.set(Buffer.from(path).toString('latin1'), number);
        return [
          { path, kind: 'file' as const, mode: after.mode & 0o777, size: after.size, content: after.content },
        ];
      });
      await context.source.fetch(
        entries,
        async ({ path }, chunks) => {
          using file = staged.createFile(String(numbers.get(Buffer.from(path).toString('latin1'))));
          let position = 0;
          for await (const chunk of chunks) {
            file.write(chunk, position);
            position += chunk.length;
          }
          file.sync();
        },
        { signal: context.signal },
      );
      staged.sync();
      context.work.sync();
    },
    secure: async (context) => {
      using old = context.work.openDir('old');
      const digests: Record<string, JsonValue> = {};
      for (const operation of context.operations) {
        await context.pause();
        const { before, number } = operation;
        if (before?.kind !== 'file' || operation.action === 'chmod') continue;
        using at = locate(context, operation.path);
        const bytes = read(at.dir, at.name);
        using copy = old.createFile(String(number));
        copy.write(bytes, 0);
        copy.sync();
        digests[String(number)] = sha256Hex(bytes);
      }
      old.sync();
      return { digests };
    },
    commit: async (context, state) => {
      const { digests } = state as { digests: Record<string, string> };
      reached.set(context.work, -1);
      for (const operation of context.operations) {
        await context.pause();
        refuseChanged(context, operation, digests[String(operation.number)]);
        apply(context, operation);
        reached.set(context.work, operation.number);
      }
      settle(context, (operation) => operation.after?.mode);
    },
    undo: async (context, state) => {
      const { digests } = state as { digests: Record<string, string> };
      using old = context.work.openDir('old');
      for (const [number, digest] of Object.entries(digests)) {
        if (sha256Hex(read(old, number)) !== digest)
          throw new Error(`copy ${number} is not what was secured`);
      }
      unlockAll(context);
      const last = reached.get(context.work) ?? Number.POSITIVE_INFINITY;
      for (const operation of [...context.operations].reverse()) {
        await context.pause();
        // The operation that failed may have left its reserved name.
        if (operation.number > last + 1) continue;
        if (operation.number > last) sweep(context, operation);
        else revert(context, operation, old);
      }
      settle(context, (operation) => operation.before?.mode);
    },
    discard: async () => {
      await Promise.resolve();
    },
  };
}

interface Located extends Disposable {
  readonly dir: Dir;
  readonly name: Uint8Array;
}

/** Opens the directory that holds a path, one component at a time. */
function locate(context: StrategyContext, path: Uint8Array): Located {
  let dir = (context.root as Dir).retain();
  const names = split(path);
  const name = names.pop() ?? new Uint8Array();
  for (const component of names) {
    const child = dir.openDir(component);
    dir.close();
    dir = child;
  }
  return {
    dir,
    name,
    [Symbol.dispose]: () => {
      dir.close();
    },
  };
}

function split(path: Uint8Array): Uint8Array[] {
  const text = Buffer.from(path).toString('latin1');
  return text === '' ? [] : text.split('/').map((name) => Buffer.from(name, 'latin1'));
}

function tryLocate(context: StrategyContext, path: Uint8Array): Located | undefined {
  try {
    return locate(context, path);
  } catch (error) {
    if (FileSystemError.is(error) && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.errno)) return undefined;
    throw error;
  }
}

function read(dir: Dir, name: Uint8Array | string): Uint8Array {
  using file = dir.openFile(name);
  return file.readAll({ maxBytes: 1024 * 1024 * 1024 });
}

function refuseChanged(
  context: StrategyContext,
  { path, before, action }: Operation,
  digest: string | undefined,
): void {
  if (digest === undefined || before === undefined) return;
  using at = locate(context, path);
  if (at.dir.lstat(at.name)?.kind !== 'file' || sha256Hex(read(at.dir, at.name)) !== digest) {
    throw new Error(`what ${action} takes away changed after it was secured`);
  }
}

function apply(context: StrategyContext, operation: Operation): void {
  const { action, path, after } = operation;
  if (action === 'chmod') return;
  using at = locate(context, path);
  openUp(at.dir);
  if (action === 'unlink') at.dir.unlink(at.name);
  else if (action === 'rmdir') at.dir.rmdir(at.name);
  else if (action === 'mkdir') at.dir.mkdir(at.name);
  else if (after?.kind === 'symlink')
    place(context, operation, at, () => at.dir.symlink(after.target ?? '', reserved(context, operation)));
  else {
    using staged = context.work.openDir('new');
    place(context, operation, at, () => {
      write(
        at.dir,
        reserved(context, operation),
        read(staged, String(operation.number)),
        after?.mode ?? 0o600,
      );
    });
  }
}

function place(context: StrategyContext, operation: Operation, at: Located, make: () => void): void {
  const name = reserved(context, operation);
  if (at.dir.lstat(name) !== undefined) at.dir.unlink(name);
  make();
  at.dir.rename(name, at.dir, at.name);
}

const reserved = (context: StrategyContext, { number }: Operation): string =>
  reservedName(context.restoreId, number);

function write(dir: Dir, name: string, bytes: Uint8Array, mode: number): void {
  using file = dir.createFile(name);
  file.write(bytes, 0);
  file.chmod(mode);
  file.sync();
}

/** Brings one path back, whatever stands there. */
function revert(context: StrategyContext, operation: Operation, old: Dir): void {
  const { action, path, before } = operation;
  if (action === 'chmod') return;
  using at = tryLocate(context, path);
  if (at === undefined) return;
  openUp(at.dir);
  const leftover = at.dir.lstat(reserved(context, operation));
  if (leftover !== undefined) at.dir.unlink(reserved(context, operation));
  const standing = at.dir.lstat(at.name);
  if (action === 'mkdir') {
    if (standing?.kind === 'directory') at.dir.rmdir(at.name);
  } else if (action === 'rmdir') {
    if (standing === undefined) at.dir.mkdir(at.name);
  } else if (before === undefined) {
    if (standing !== undefined && standing.kind !== 'directory') at.dir.unlink(at.name);
  } else if (before.kind === 'symlink') {
    place(context, operation, at, () => {
      at.dir.symlink(before.target ?? '', reserved(context, operation));
    });
  } else {
    place(context, operation, at, () => {
      write(at.dir, reserved(context, operation), read(old, String(operation.number)), before.mode);
    });
  }
}

function sweep(context: StrategyContext, operation: Operation): void {
  using at = tryLocate(context, operation.path);
  if (at?.dir.lstat(reserved(context, operation)) !== undefined) at.dir.unlink(reserved(context, operation));
}

function openUp(dir: Dir): void {
  const { mode } = dir.stat();
  if ((mode & 0o700) !== 0o700) dir.chmod(mode | 0o700);
}

function unlockAll(context: StrategyContext): void {
  for (const { path, before } of context.operations) {
    if (before?.kind !== 'directory') continue;
    using at = tryLocate(context, path);
    const stat = at?.name.length === 0 ? undefined : at?.dir.lstat(at.name);
    if (stat?.kind === 'directory') at?.dir.chmodAt(at.name, 0o700);
  }
}

/** Gives every touched path its mode and makes every touched directory durable, deepest first. */
function settle(context: StrategyContext, modeOf: (operation: Operation) => number | undefined): void {
  const modes = new Map<string, number | undefined>();
  for (const operation of context.operations) {
    const key = Buffer.from(operation.path).toString('latin1');
    const parent = key.includes('/') ? key.slice(0, key.lastIndexOf('/')) : '';
    if (operation.action !== 'chmod' && !modes.has(parent)) modes.set(parent, undefined);
    const directory = operation.before?.kind === 'directory' || operation.after?.kind === 'directory';
    if (directory || operation.action === 'chmod') modes.set(key, modeOf(operation));
  }
  const depth = (key: string): number => (key === '' ? 0 : key.split('/').length);
  for (const [key, mode] of [...modes].sort(([a], [b]) => depth(b) - depth(a))) {
    using at = tryLocate(context, Buffer.from(key, 'latin1'));
    const kind = key === '' ? 'directory' : at?.dir.lstat(at.name)?.kind;
    if (at === undefined || kind === undefined || kind === 'symlink') continue;
    if (kind === 'directory') {
      using dir = key === '' ? at.dir.retain() : at.dir.openDir(at.name);
      if (mode !== undefined) dir.chmod(mode);
      dir.sync();
    } else if (mode !== undefined) {
      at.dir.chmodAt(at.name, mode);
      using file = at.dir.openFile(at.name);
      file.sync();
    }
  }
}

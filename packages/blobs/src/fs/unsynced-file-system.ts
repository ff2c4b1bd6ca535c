import type { FileSystem } from '@holdfast/durable';

/** The same file system without any sync: much faster, and nothing is promised after a loss of power. */
export function unsyncedFileSystem(fileSystem: FileSystem): FileSystem {
  const replaced: Pick<FileSystem, 'sync' | 'syncLater'> = {
    sync: () => undefined,
    syncLater: async () => await Promise.resolve(),
  };
  return new Proxy(fileSystem, {
    get: (target, property) => {
      if (property === 'sync' || property === 'syncLater') return replaced[property];
      const value: unknown = Reflect.get(target, property, target);
      // Bound to the target: implementations keep their state in private fields, which a proxy does not have.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Blobs } from '@holdfast/blobs';
import { type FsBlobsOptions, openFsBlobs } from '@holdfast/blobs/fs';
import type { BlobsHarness } from '@holdfast/blobs/testing';

export interface FsHarness extends BlobsHarness, Disposable {
  directoryOf(store: Blobs): string;
}

/** A harness over the real disk; disposing it removes everything it made. */
export function fsHarness(options: FsBlobsOptions = {}, adapter: string = 'fs'): FsHarness {
  const base = mkdtempSync(join(tmpdir(), 'holdfast-blobs-'));
  const directories = new WeakMap<Blobs, string>();
  let count = 0;
  const open = async (directory: string): Promise<Blobs> => {
    const store = await openFsBlobs(directory, options);
    directories.set(store, directory);
    return store;
  };
  const directoryOf = (store: Blobs): string => directories.get(store) as string;
  return {
    adapter,
    directoryOf,
    fresh: async () => {
      count += 1;
      return await open(join(base, String(count)));
    },
    reopen: async (store) => await open(directoryOf(store)),
    corrupt: async (store, key) => {
      await Promise.resolve(damage(objectFile(directoryOf(store), key)));
    },
    held: async (store) => await Promise.resolve(openFilesBelow(directoryOf(store))),
    leftovers: async (store) => await Promise.resolve(temporariesBelow(directoryOf(store))),
    [Symbol.dispose]: () => {
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** Finds an object's file without the code under test: the only file whose path ends with the key's last segment. */
export function objectFile(directory: string, key: string): string {
  const name = `@${(key.split('/').at(-1) as string).replaceAll('.', ',')}`;
  const found = filesBelow(directory).filter((path) => path.endsWith(`/${name}`));
  if (found.length !== 1) throw new Error(`${found.length} files are named ${name}`);
  return found[0] as string;
}

export function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

export function temporariesBelow(directory: string): number {
  return filesBelow(directory).filter((path) => path.includes('/.holdfast-')).length;
}

function damage(file: string): void {
  const size = statSync(file).size;
  truncateSync(file, Math.floor(size / 2));
  const handle = openSync(file, 'r+');
  writeSync(handle, 'damaged', 0);
  closeSync(handle);
}

/** Open regular files of this process below a directory. */
function openFilesBelow(directory: string): number {
  let open = 0;
  for (const name of readdirSync('/proc/self/fd')) {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`);
      if (
        target.startsWith(`${directory}/`) &&
        statSync(target, { throwIfNoEntry: false })?.isFile() !== false
      )
        open += 1;
    } catch {
      // The descriptor of this very listing is gone by now.
    }
  }
  return open;
}

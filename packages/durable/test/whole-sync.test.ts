import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';

import { Dir, diskSync, HandleClosedError } from '@holdfast/durable';
import { ModelFileSystem } from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { onRealDisks } from './support/disks.js';

/** Stands for `sync`: writes down which directory it was asked about. */
function program(path: string, script = 'stat -L -c %d:%i "$2" > "${0%/*}/asked"'): string {
  writeFileSync(`${path}/program`, `#!/bin/sh\n${script}\n`);
  chmodSync(`${path}/program`, 0o700);
  return `${path}/program`;
}

const identity = (path: string): string => {
  const { dev, ino } = statSync(path);
  return `${dev}:${ino}`;
};

describe.runIf(process.platform === 'linux')('diskSync', () => {
  onRealDisks('of an open directory', (disk) => {
    it('asks for the disk of that directory, whatever has its path by then', async () => {
      const { dir, path } = disk();
      dir.mkdir('above', 0o700);
      mkdirSync(`${path}/above/held`);
      mkdirSync(`${path}/elsewhere/held`, { recursive: true });
      using above = dir.openDir('above');
      using held = above.openDir('held');
      const sync = diskSync(held, { program: program(path) });
      const wanted = identity(`${path}/above/held`);
      renameSync(`${path}/above`, `${path}/moved`);
      symlinkSync('elsewhere', `${path}/above`);
      await sync?.sync();
      expect(readFileSync(`${path}/asked`, 'utf8').trim()).toBe(wanted);
      expect(wanted).not.toBe(identity(`${path}/above/held`));
    });

    it('asks with the handle that is open, and refuses when it is closed', async () => {
      const { dir, path, fileSystem } = disk();
      const held = Dir.openRoot(fileSystem, path);
      const sync = diskSync(held, { program: program(path) });
      held.close();
      await expect(sync?.sync()).rejects.toThrow(HandleClosedError);
      await diskSync(dir, { program: program(path) })?.sync();
      expect(readFileSync(`${path}/asked`, 'utf8').trim()).toBe(identity(path));
    });

    it('rejects with what the program said', async () => {
      const { dir, path } = disk();
      const failing = program(path, 'echo "no such luck" >&2; exit 1');
      await expect(diskSync(dir, { program: failing })?.sync()).rejects.toThrow('no such luck');
      await expect(diskSync(dir, { program: `${path}/absent` })?.sync()).rejects.toThrow('ENOENT');
      const killed = program(path, 'kill -9 $$');
      await expect(diskSync(dir, { program: killed })?.sync()).rejects.toThrow('SIGKILL');
    });

    it('is what the system has', async () => {
      const { dir, path } = disk();
      for (const place of [dir, path]) await diskSync(place)?.sync();
      await expect(diskSync(`${path}/absent`)?.sync()).rejects.toThrow('absent');
    });
  });

  it('has nothing for a directory that is on no disk', () => {
    using dir = Dir.openRoot(new ModelFileSystem(), '/');
    expect(diskSync(dir)).toBeUndefined();
  });
});

import * as fs from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { holdfast, temporaryDirectory } from './run-command.js';

/** Refusals that say what to do instead. */

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;
let home: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  root = join(temporary.path, 'ws');
  home = join(temporary.path, 'home');
  fs.mkdirSync(root);
  fs.writeFileSync(join(root, 'a.txt'), 'one');
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

const privileged = process.getuid?.() === 0;
const nobody = 65534;

describe('a home', () => {
  it('below a file is refused as one that cannot be used', async () => {
    const file = join(temporary.path, 'file');
    fs.writeFileSync(file, '');
    const words = ['snapshot', root, '--home', join(file, 'home')];
    expect((await holdfast([...words, '--json'])).error()).toMatchObject({
      code: 'CLI_HOME',
      kind: 'denied',
    });
    expect((await holdfast(words)).stderr).toContain('name another one with --home or HOLDFAST_HOME');
  });

  it.runIf(privileged)(
    'in a directory that this user cannot write or enter is refused, and nothing is made',
    async () => {
      fs.chmodSync(temporary.path, 0o755);
      const made = await holdfast(['snapshot', root, '--home', home, '--json'], { uid: nobody });
      expect(made.error()).toMatchObject({ code: 'CLI_HOME', kind: 'denied' });
      expect(fs.existsSync(home)).toBe(false);
      expect((await holdfast(['snapshot', root, '--home', home])).status).toBe(0);
      // It is there, but closed: not the same as missing.
      for (const words of [
        ['list', root],
        ['snapshot', root],
      ]) {
        const refused = await holdfast([...words, '--home', home, '--json'], { uid: nobody });
        expect(refused.error(), words.join(' ')).toMatchObject({ code: 'CLI_HOME', kind: 'denied' });
      }
    },
  );

  it.runIf(privileged)("that is another user's is refused as that", async () => {
    fs.chmodSync(temporary.path, 0o777);
    expect((await holdfast(['snapshot', root, '--home', home], { uid: nobody })).status).toBe(0);
    const refused = await holdfast(['list', root, '--home', home]);
    expect([refused.status, refused.stdout.toString()]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/belongs to another user; run the command as that user.*\[CLI_HOME\]/);
  });
});

describe('what is no plain file', () => {
  it('is named by cat as what it is', async () => {
    fs.mkdirSync(join(root, 'd'));
    fs.symlinkSync('a.txt', join(root, 'l'));
    const ref = (await holdfast(['snapshot', root, '--home', home])).stdout.toString().trim();
    for (const [path, found, told] of [
      ['l', 'symlink', 'has no file at "l": it is a symlink; list it to see what it leads to'],
      ['d', 'directory', 'has no file at "d": it is a directory; list it to see what it holds'],
      ['none', undefined, 'has no file at "none" ['],
    ] as const) {
      const words = ['cat', ref, path, '--home', home];
      const error = (await holdfast([...words, '--json'])).error();
      expect([error['code'], error['found']], path).toEqual(['WORKSPACE_ENTRY_NOT_FOUND', found]);
      expect((await holdfast(words)).stderr).toContain(told);
    }
    expect((await holdfast(['ls', ref, 'l', '--home', home])).stdout.toString()).toContain('l -> a.txt');
  });
});

describe('an archive that is compressed', () => {
  it('is refused with the name of the compression, however short it is', async () => {
    fs.writeFileSync(join(root, 'b.txt'), Buffer.alloc(5000, 'b'));
    const ref = (await holdfast(['snapshot', root, '--home', home])).stdout.toString().trim();
    const tar = (await holdfast(['export', ref, '--home', home])).stdout;
    const starts: readonly (readonly [string, Uint8Array])[] = [
      ['gzip', gzipSync(tar)],
      ['gzip', gzipSync(tar, { level: 0 })],
      ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])],
      ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0])],
    ];
    for (const [name, input] of starts) {
      const refused = await holdfast(['import', '--home', home, '--json'], { input });
      const error = refused.error();
      expect(error).toMatchObject({ code: 'WORKSPACE_ARCHIVE_ENTRY', reason: 'malformed' });
      expect(error['message']).toContain(`compressed with ${name}: decompress it first (${name} -dc)`);
    }
    expect((await holdfast(['import', '--home', home], { input: tar })).stdout.toString().trim()).toBe(ref);
  });
});

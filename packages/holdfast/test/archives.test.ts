import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { holdfast, temporaryDirectory } from './run-command.js';
import { treeRows } from './tree-rows.js';

/** Plain tar out and in, through the real command and the tar of the system. */

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;
let home: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  root = join(temporary.path, 'ws');
  home = join(temporary.path, 'home');
  fs.mkdirSync(join(root, 'dir/empty'), { recursive: true });
  fs.writeFileSync(join(root, 'dir/公共.txt'), 'text', { mode: 0o640 });
  fs.writeFileSync(join(root, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  fs.symlinkSync('run.sh', join(root, 'link'));
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

describe('export and import', () => {
  it('exports what tar unpacks to the same tree, imports it to the same tree, and keeps it through a collection', async () => {
    const { ref }: { ref: string } = (await holdfast(['snapshot', root, '--home', home, '--json'])).json();
    const exported = await holdfast(['export', ref, '--home', home]);
    expect(exported.status).toBe(0);
    const unpacked = join(temporary.path, 'unpacked');
    fs.mkdirSync(unpacked);
    execFileSync('tar', ['-xpf', '-', '-C', unpacked], { input: exported.stdout });
    expect(treeRows(unpacked)).toEqual(treeRows(root));

    const elsewhere = join(temporary.path, 'elsewhere');
    const imported: { ref: string } = (
      await holdfast(['import', '--home', elsewhere, '--json'], { input: exported.stdout })
    ).json();
    (await holdfast(['gc', '--home', elsewhere, '--json'])).json();
    const copy = join(temporary.path, 'copy');
    expect((await holdfast(['materialize', imported.ref, copy, '--home', elsewhere])).status).toBe(0);
    expect(treeRows(copy)).toEqual(treeRows(root));
  });

  it('refuses an archive that escapes, as a whole', async () => {
    fs.writeFileSync(join(temporary.path, 'outside'), 'x');
    const hostile = execFileSync('tar', ['-cPf', '-', '../outside', 'run.sh'], { cwd: root });
    const refused = await holdfast(['import', '--home', home, '--json'], { input: hostile });
    expect(refused.status).toBe(1);
    expect(refused.error()).toMatchObject({ code: 'WORKSPACE_ARCHIVE_ENTRY' });
    expect((await holdfast(['import', '--home', home, '--json'], { input: 'not a tar' })).status).toBe(1);
  });
});

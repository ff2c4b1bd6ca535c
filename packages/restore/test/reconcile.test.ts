import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { previewRestore } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { bench } from './support/bench.js';

describe('reconcile in place', () => {
  it('brings changed, added and deleted entries back and says so', async () => {
    const b = bench();
    mkdirSync(b.root);
    writeFileSync(join(b.root, 'keep'), 'keep');
    writeFileSync(join(b.root, 'a'), 'old a');
    mkdirSync(join(b.root, 'd'));
    writeFileSync(join(b.root, 'd/x'), 'x');
    symlinkSync('a', join(b.root, 'l'));
    const ref = b.source.capture(b.root);
    const kept = statSync(join(b.root, 'keep'), { bigint: true });
    const rootInode = statSync(b.root).ino;
    writeFileSync(join(b.root, 'a'), 'new a!');
    rmSync(join(b.root, 'd'), { recursive: true });
    writeFileSync(join(b.root, 'd'), 'a file now');
    unlinkSync(join(b.root, 'l'));
    writeFileSync(join(b.root, 'extra'), 'extra');
    const plan = await previewRestore(b.source, ref, b.root);
    expect(plan).toMatchObject({ exact: true, keep: 1, conflicts: [], omitted: [] });
    expect(plan.replace.map(({ path }) => path)).toEqual(['a']);
    expect(plan.retype).toEqual([{ path: 'd', kind: 'directory', mode: 0o755, from: 'file' }]);
    expect(plan.delete.map(({ path }) => path)).toEqual(['extra']);
    const receipt = await b.restore(ref, { plan, verify: 'all' });
    expect(receipt).toMatchObject({
      replaced: 1,
      created: 2,
      retyped: 1,
      deleted: 1,
      kept: 1,
      exact: true,
      verified: 'all',
    });
    expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('old a');
    expect(readFileSync(join(b.root, 'd/x'), 'utf8')).toBe('x');
    expect(lstatSync(join(b.root, 'l')).isSymbolicLink()).toBe(true);
    expect(readdirSync(b.root).sort()).toEqual(['a', 'd', 'keep', 'l']);
    const now = statSync(join(b.root, 'keep'), { bigint: true });
    expect([now.ino, now.mtimeNs, now.ctimeNs]).toEqual([kept.ino, kept.mtimeNs, kept.ctimeNs]);
    expect(statSync(b.root).ino).toBe(rootInode);
    expect(readdirSync(b.base)).toEqual(['root']);
    expect(b.journal.types).toBe('started restored');
    chmodSync(b.root, 0o755);
  });
});

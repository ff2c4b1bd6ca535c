import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { previewRestore, reconcile, swap } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { bench } from './support/bench.js';

type Facts = readonly [bigint, bigint, bigint];

function factsOf(path: string): Facts {
  const { ino, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
  return [ino, mtimeNs, ctimeNs];
}

function allFacts(root: string): Map<string, Facts> {
  const facts = new Map<string, Facts>();
  for (const name of readdirSync(root, { recursive: true }) as string[])
    facts.set(name, factsOf(join(root, name)));
  return facts;
}

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
    const kept = factsOf(join(b.root, 'keep'));
    const rootInode = statSync(b.root).ino;
    writeFileSync(join(b.root, 'a'), 'new a!');
    rmSync(join(b.root, 'd'), { recursive: true });
    writeFileSync(join(b.root, 'd'), 'a file now');
    unlinkSync(join(b.root, 'l'));
    writeFileSync(join(b.root, 'extra'), 'extra');
    const plan = await previewRestore(b.source, ref, b.root);
    expect(plan).toMatchObject({ exact: true, keep: 1, conflicts: [], omitted: [], strategy: 'reconcile' });
    const receipt = await b.restore(ref, { plan, verify: 'all' });
    expect(receipt).toMatchObject({
      ref,
      strategy: 'reconcile',
      replaced: 1,
      created: 2,
      retyped: 1,
      deleted: 1,
      kept: 1,
      bytesWritten: plan.bytes,
      exact: true,
      verified: 'all',
    });
    expect(b.source.capture(b.root)).toBe(ref);
    expect(factsOf(join(b.root, 'keep'))).toEqual(kept);
    expect(statSync(b.root).ino).toBe(rootInode);
    expect(readdirSync(b.base)).toEqual(['root']);
    expect(b.journal.types).toBe('started restored');
    expect(b.journal.rows.at(-1)?.event).toBe(JSON.stringify({ id: receipt.restoreId, ref }));
  });

  it('changes nothing but what differs (T10)', async () => {
    const b = bench();
    mkdirSync(b.root);
    for (let index = 0; index < 200; index += 1) {
      writeFileSync(join(b.root, `f${index}`), `file ${index}`);
      utimesSync(join(b.root, `f${index}`), 1_577_836_800.123456, 1_577_836_800.654321);
    }
    writeFileSync(join(b.root, 'run.sh'), '#!', { mode: 0o755 });
    writeFileSync(join(b.root, 'secret'), 's', { mode: 0o600 });
    writeFileSync(join(b.root, 'ro'), 'ro', { mode: 0o444 });
    mkdirSync(join(b.root, 'd'), { mode: 0o700 });
    mkdirSync(join(b.root, 'e'));
    symlinkSync('run.sh', join(b.root, 'l'));
    const ref = b.source.capture(b.root);
    writeFileSync(join(b.root, 'f7'), 'changed');
    chmodSync(join(b.root, 'run.sh'), 0o644);
    const before = allFacts(b.root);
    const receipt = await b.restore(ref);
    expect(receipt).toMatchObject({ replaced: 1, chmodded: 1, created: 0, deleted: 0, bytesWritten: 6 });
    const changed = [...allFacts(b.root)].filter(
      ([name, facts]) => String(before.get(name)) !== String(facts),
    );
    expect(changed.map(([name]) => name).sort()).toEqual(['f7', 'run.sh']);
    expect(factsOf(join(b.root, 'run.sh'))[0]).toBe(before.get('run.sh')?.[0]);
    expect(b.source.fetched).toBe(1);
  });

  it('never writes through a link that took the place of a directory (T6)', async () => {
    const b = bench();
    mkdirSync(join(b.root, 'cfg'), { recursive: true });
    mkdirSync(join(b.base, 'outside'));
    writeFileSync(join(b.root, 'cfg/f.txt'), 'good');
    writeFileSync(join(b.base, 'outside/f.txt'), 'host');
    const ref = b.source.capture(b.root);
    rmSync(join(b.root, 'cfg'), { recursive: true });
    symlinkSync('../outside', join(b.root, 'cfg'));
    await b.restore(ref);
    expect(readFileSync(join(b.base, 'outside/f.txt'), 'utf8')).toBe('host');
    expect(lstatSync(join(b.root, 'cfg')).isDirectory()).toBe(true);
    expect(readFileSync(join(b.root, 'cfg/f.txt'), 'utf8')).toBe('good');
  });

  it('replaces a FIFO that took the place of a file and keeps other special nodes (T5)', async () => {
    const b = bench();
    mkdirSync(b.root);
    writeFileSync(join(b.root, 'a.txt'), 'a');
    linkSync(join(b.root, 'a.txt'), join(b.root, 'b.txt'));
    execFileSync('mkfifo', [join(b.root, 'pipe')]);
    symlinkSync('missing', join(b.root, 'dangling'));
    symlinkSync('loop', join(b.root, 'loop'));
    const server = createServer().listen(join(b.root, 's.sock'));
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      const ref = b.source.capture(b.root);
      unlinkSync(join(b.root, 'a.txt'));
      execFileSync('mkfifo', [join(b.root, 'a.txt')]);
      const receipt = await b.restore(ref, { strategy: reconcile({ prune: 'exact' }) });
      expect(readFileSync(join(b.root, 'a.txt'), 'utf8')).toBe('a');
      expect(receipt.retyped).toBe(1);
      expect(receipt.omitted).toEqual([
        { path: 'pipe', reason: 'special' },
        { path: 's.sock', reason: 'special' },
      ]);
      expect(lstatSync(join(b.root, 'pipe')).isFIFO()).toBe(true);
      expect(lstatSync(join(b.root, 's.sock')).isSocket()).toBe(true);
      expect(readlinkSync(join(b.root, 'dangling'))).toBe('missing');
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('leaves what was over the limit byte for byte (T9)', async () => {
    const b = bench();
    mkdirSync(b.root);
    const scan = { limits: { fileBytes: 8 } };
    writeFileSync(join(b.root, 'small'), '1');
    writeFileSync(join(b.root, 'big'), 'x'.repeat(9));
    const ref = b.source.capture(b.root, scan);
    writeFileSync(join(b.root, 'small'), '2');
    writeFileSync(join(b.root, 'big'), 'y'.repeat(20));
    const facts = factsOf(join(b.root, 'big'));
    const receipt = await b.restore(ref, { scan });
    expect(receipt.omitted).toEqual([{ path: 'big', reason: 'limit' }]);
    expect(factsOf(join(b.root, 'big'))).toEqual(facts);
    expect(readFileSync(join(b.root, 'small'), 'utf8')).toBe('1');
  });

  it('says what the target left out and nobody can bring back', async () => {
    for (const strategy of [reconcile(), swap()]) {
      const b = bench();
      mkdirSync(join(b.root, 'd'), { recursive: true });
      writeFileSync(join(b.root, 'small'), '1');
      writeFileSync(join(b.root, 'd/big'), 'x'.repeat(9));
      const ref = b.source.capture(b.root, { limits: { fileBytes: 8 } });
      rmSync(join(b.root, 'd/big'));
      writeFileSync(join(b.root, 'small'), '2');
      const plan = await previewRestore(b.source, ref, b.root, { strategy });
      expect(plan.omitted).toEqual([{ path: 'd/big', reason: 'unrestorable' }]);
      const receipt = await b.restore(ref, { strategy, plan });
      // A swap loses nothing by it.
      expect(receipt).toMatchObject({ strategy: strategy.name, omitted: plan.omitted, exact: true });
      expect(receipt.notes).toBeUndefined();
    }
  });

  it('names what undoing it would not bring back', async () => {
    const b = bench();
    mkdirSync(b.root);
    const scan = { limits: { fileBytes: 8 } };
    for (const name of ['big', 'forced', 'special', 'late', 'gone', 'plain'])
      writeFileSync(join(b.root, name), 'old');
    const ref = b.source.capture(b.root);
    for (const name of ['big', 'forced']) writeFileSync(join(b.root, name), 'y'.repeat(20));
    unlinkSync(join(b.root, 'special'));
    execFileSync('mkfifo', [join(b.root, 'special')]);
    for (const name of ['late', 'gone', 'plain']) writeFileSync(join(b.root, name), 'changed');
    const safetyRef = b.source.capture(b.root, scan);
    const onStep = (step: string): void => {
      if (step !== 'secure') return;
      writeFileSync(join(b.root, 'late'), 'changed again');
      unlinkSync(join(b.root, 'gone'));
    };
    const receipt = await b.restore(ref, {
      scan,
      safetyRef,
      force: ['forced'],
      onConflict: 'overwrite',
      onStep,
    });
    expect(receipt.notes).toEqual([
      {
        kind: 'undo-incomplete',
        detail: expect.stringContaining('3 paths') as string,
        paths: ['forced', 'late', 'special'],
      },
    ]);
    expect(readFileSync(join(b.root, 'forced'), 'utf8')).toBe('old');
    expect(readFileSync(join(b.root, 'big'), 'utf8')).toBe('y'.repeat(20));
    // Without a safety checkpoint there is nothing to undo with, and without gaps nothing to say.
    writeFileSync(join(b.root, 'forced'), 'y'.repeat(20));
    expect((await b.restore(ref, { scan, force: ['forced'] })).notes).toBeUndefined();
    writeFileSync(join(b.root, 'plain'), 'changed');
    expect((await b.restore(ref, { safetyRef: b.source.capture(b.root) })).notes).toBeUndefined();
  });

  it('gives a hard-linked name an inode of its own and leaves the other alone', async () => {
    const b = bench();
    mkdirSync(b.root);
    writeFileSync(join(b.root, 'a'), 'a');
    const ref = b.source.capture(b.root);
    linkSync(join(b.root, 'a'), join(b.base, 'outside'));
    chmodSync(join(b.base, 'outside'), 0o600);
    const outside = statSync(join(b.base, 'outside'));
    await b.restore(ref);
    expect(statSync(join(b.base, 'outside'))).toMatchObject({ ino: outside.ino, mode: outside.mode });
    expect(statSync(join(b.root, 'a')).mode & 0o777).toBe(0o644);
    expect(statSync(join(b.root, 'a')).ino).not.toBe(outside.ino);
  });

  it('round-trips every name that the disk can hold', async () => {
    const b = bench();
    mkdirSync(b.root);
    const names = [
      Buffer.from('公共函数.cpp'),
      Buffer.from('a"b.txt'),
      Buffer.from('new\nline.txt'),
      Buffer.from(' lead.txt '),
      Buffer.from('-rf'),
      Buffer.from([0x62, 0xff, 0x2e]),
      Buffer.from('é'.normalize('NFC')),
      Buffer.from('é'.normalize('NFD')),
      Buffer.from('Logo.png'),
      Buffer.from('logo.png'),
      Buffer.from('n'.repeat(255)),
      Buffer.from('back\\slash'),
      Buffer.from('.holdfast-0123456789abcdef0123456789abcdef-0'),
    ];
    for (const name of names) writeFileSync(Buffer.concat([Buffer.from(`${b.root}/`), name]), 'x');
    let deep = b.root;
    for (let level = 0; level < 11; level += 1) {
      deep = join(deep, 'd'.repeat(100));
      mkdirSync(deep);
    }
    writeFileSync(join(deep, 'f'), 'deep');
    const ref = b.source.capture(b.root);
    for (const name of readdirSync(b.root)) rmSync(join(b.root, name), { recursive: true, force: true });
    unlinkSync(Buffer.concat([Buffer.from(`${b.root}/`), names[5] as Buffer]));
    const receipt = await b.restore(ref, { verify: 'all' });
    expect(receipt.created).toBe(names.length + 12);
    expect(b.source.capture(b.root)).toBe(ref);
  });

  it('opens read-only directories and closes them again', async () => {
    const b = bench();
    mkdirSync(join(b.root, 'd/e'), { recursive: true });
    writeFileSync(join(b.root, 'd/e/x'), 'x');
    writeFileSync(join(b.root, 'zero'), 'zero');
    chmodSync(join(b.root, 'zero'), 0o000);
    chmodSync(join(b.root, 'd/e'), 0o555);
    chmodSync(join(b.root, 'd'), 0o555);
    const ref = b.source.capture(b.root);
    chmodSync(join(b.root, 'd/e'), 0o755);
    writeFileSync(join(b.root, 'd/e/x'), 'changed');
    writeFileSync(join(b.root, 'd/e/extra'), 'extra');
    chmodSync(join(b.root, 'd/e'), 0o555);
    rmSync(join(b.root, 'zero'));
    await b.restore(ref, { verify: 'all' });
    expect(b.source.capture(b.root)).toBe(ref);
    expect(statSync(join(b.root, 'd/e')).mode & 0o777).toBe(0o555);
    expect(statSync(join(b.root, 'zero')).mode & 0o777).toBe(0o000);
    chmodSync(join(b.root, 'd'), 0o755);
    chmodSync(join(b.root, 'd/e'), 0o755);
  });

  it('restores 10,000 files and files of many pieces', async () => {
    const b = bench();
    for (let directory = 0; directory < 100; directory += 1) {
      mkdirSync(join(b.root, `d${directory}`), { recursive: true });
      for (let index = 0; index < 100; index += 1)
        writeFileSync(join(b.root, `d${directory}/f${index}`), `${directory} ${index}`);
    }
    writeFileSync(join(b.root, 'large'), Buffer.alloc(24 * 1024 * 1024, 'large'));
    const ref = b.source.capture(b.root);
    for (let directory = 0; directory < 10; directory += 1)
      rmSync(join(b.root, `d${directory}`), { recursive: true });
    for (let index = 0; index < 100; index += 1) writeFileSync(join(b.root, `d60/f${index}`), 'changed');
    writeFileSync(join(b.root, 'large'), 'small');
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 5);
    const receipt = await b.restore(ref);
    clearInterval(timer);
    expect(receipt).toMatchObject({ created: 1010, replaced: 101, deleted: 0, exact: true });
    expect(b.source.capture(b.root)).toBe(ref);
    // The event loop was free all the while.
    expect(turns).toBeGreaterThan(5);
  });

  it('keeps the directory of whoever stands in the root', async () => {
    const b = bench();
    mkdirSync(b.root);
    writeFileSync(join(b.root, 'a'), 'a');
    const ref = b.source.capture(b.root);
    rmSync(join(b.root, 'a'));
    renameSync(b.root, join(b.base, 'other'));
    renameSync(join(b.base, 'other'), b.root);
    const inode = statSync(b.root).ino;
    await b.restore(ref);
    expect(statSync(b.root).ino).toBe(inode);
  });
});

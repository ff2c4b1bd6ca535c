import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { temporaryDirectory } from './support/bench.js';

const run = promisify(execFile);
const script = fileURLToPath(new URL('./fixtures/unprivileged.mjs', import.meta.url));
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;

/** Runs a scenario of the fixture as a user without privileges; tests mostly run as root, for whom modes mean nothing. */
async function unprivileged(scenario: string, prepare?: (base: string) => void): Promise<unknown> {
  const base = temporaryDirectory();
  if (isRoot) chownSync(base, nobody, nobody);
  prepare?.(base);
  const identity = isRoot ? { uid: nobody, gid: nobody } : {};
  const { stdout } = await run(process.execPath, [script, scenario, base], identity);
  return JSON.parse(stdout);
}

describe('a user without privileges', () => {
  it('restores inside read-only directories and leaves them read-only', async () => {
    expect(await unprivileged('read-only directories')).toEqual(['500', '555', '400', 'new', ['x']]);
  });

  it('restores modes that keep even the owner out', async () => {
    expect(await unprivileged('modes that keep the owner out')).toEqual(['0', '0', '300', true, 'touched']);
  });

  it('gets the old tree back from behind such modes', async () => {
    const found = await unprivileged('taken back from modes that keep the owner out');
    expect(found).toEqual(['reconcile-failed', '700', '600', '600', 'old', ['d', 'f']]);
  });

  it('recovers from behind such modes', async () => {
    const found = await unprivileged('recovered among modes that keep the owner out');
    expect(found).toEqual(['undone', '500', 'old', ['gone', 'x']]);
  });

  it('keeps what it cannot read', async () => {
    const omitted = [{ path: 'locked', reason: 'unreadable' }];
    expect(await unprivileged('what cannot be read stays')).toEqual(['reconcile-failed', omitted, '0', 6]);
  });

  it('is told to put scratch inside when the parent may not be written', async () => {
    const sealed = (base: string): void => {
      mkdirSync(join(base, 'sealed/root'), { recursive: true });
      writeFileSync(join(base, 'sealed/root/extra'), '');
      if (isRoot) {
        chownSync(join(base, 'sealed/root'), nobody, nobody);
        chownSync(join(base, 'sealed/root/extra'), nobody, nobody);
      }
      chmodSync(join(base, 'sealed'), 0o555);
    };
    expect(await unprivileged('a parent that may not be written', sealed)).toEqual([
      'parent-not-writable',
      1,
      ['a'],
    ]);
  });

  it.runIf(isRoot)(
    'replaces files of somebody else where its own directory lets it, and no modes',
    async () => {
      const foreign = (base: string): void => {
        mkdirSync(join(base, 'root'));
        for (const name of ['replaced', 'deleted', 'kept', 'chmodded'])
          writeFileSync(join(base, 'root', name), 'theirs', { mode: 0o644 });
        chownSync(join(base, 'root'), nobody, nobody);
      };
      expect(await unprivileged('files of somebody else', foreign)).toEqual([
        ['chmodded', 'fresh', 'kept', 'replaced'],
        'new',
        0,
        // The kernel lets nobody link what belongs to somebody else (where it protects hard links).
        expect.stringMatching(/^(?:no-hard-links)?$/),
        'reconcile-failed',
        '644',
        'changed',
      ]);
    },
  );

  it.runIf(isRoot)('gets the old tree back when a directory of somebody else cannot be changed', async () => {
    const foreign = (base: string): void => {
      mkdirSync(join(base, 'root/theirs'), { recursive: true });
      writeFileSync(join(base, 'root/theirs/x'), 'theirs', { mode: 0o644 });
      writeFileSync(join(base, 'root/a'), 'old', { mode: 0o644 });
      chownSync(join(base, 'root'), nobody, nobody);
      chownSync(join(base, 'root/a'), nobody, nobody);
    };
    const found = await unprivileged('a directory of somebody else', foreign);
    expect(found).toEqual(['reconcile-failed', ['x'], ['x'], 'old']);
  });

  it('does not swap a root of somebody else that a sticky parent holds', async () => {
    const sticky = (base: string): void => {
      mkdirSync(join(base, 'sticky/root'), { recursive: true });
      chmodSync(join(base, 'sticky'), 0o1777);
      chmodSync(join(base, 'sticky/root'), 0o777);
    };
    // Where the tests have no privileges either, the root is their own.
    const expected = isRoot ? ['reconcile', 'swap-unavailable', ['a']] : ['swap', null, ['a']];
    expect(await unprivileged('a sticky parent of somebody else', sticky)).toEqual(expected);
  });
});

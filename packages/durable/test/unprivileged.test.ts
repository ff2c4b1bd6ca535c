import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const fixture = fileURLToPath(new URL('fixtures/unprivileged.mjs', import.meta.url));
let base: string;

beforeEach(() => {
  base = fs.mkdtempSync(join(fs.realpathSync(tmpdir()), 'durable-user-'));
  fs.mkdirSync(join(base, 'mine'));
  fs.chmodSync(base, 0o755);
});

afterEach(() => {
  fs.rmSync(base, { recursive: true, force: true });
});

describe.each(['anchored', 'guarded'] as const)('an ordinary user (%s)', (grade) => {
  it('meets permissions as typed errors, and deletes what is his', () => {
    const output = execFileSync(process.execPath, [fixture, base, grade], { encoding: 'utf8' });
    const facts = JSON.parse(output.trim().split('\n').at(-1) as string) as Record<string, string | boolean>;
    expect(facts).toMatchObject({
      'read a file without permission': 'EACCES',
      'open a directory without permission': 'EACCES',
      'walk past a directory without permission': 'a,b,closed,closed EACCES,file,secret',
      'change the mode of a file that cannot be opened': '640',
      'publish into a read-only directory': 'EACCES',
      'remove a name from a read-only directory': 'EACCES',
      'the mode of its parent': '555',
      'remove a tree with read-only and closed directories': true,
      'publish a file that nobody may read': '100000',
    });
    if (process.getuid?.() !== 0) return;
    expect(output).toContain('"dropped":true');
    expect(facts).toMatchObject({
      'nothing is left of it': 'mixed',
      'remove a tree with a directory of somebody else': 'DURABLE_OUTCOME_UNCERTAIN EACCES',
      'what is left of that': '.holdfast-trash-mixed-*,sealed',
      'make a directory where it must not': 'EACCES',
      'make a directory in one of its own, in a parent it cannot list': 'done',
    });
  });
});

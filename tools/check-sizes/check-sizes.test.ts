import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, expect, test } from 'vitest';

const tool = fileURLToPath(new URL('check-sizes.mjs', import.meta.url));
let root = '';

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'holdfast-sizes-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function check(file: string, content: string): { status: number | null; output: string } {
  mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
  writeFileSync(path.join(root, file), content);
  const result = spawnSync(process.execPath, [tool, '--root', root], { encoding: 'utf8' });
  return { status: result.status, output: result.stdout + result.stderr };
}

test.each([
  ['packages/a/src/a.ts', 'a\n'.repeat(400), 0],
  ['packages/a/src/a.ts', 'a\n'.repeat(401), 1],
  ['packages/a/test/a.test.ts', 'a\n'.repeat(800), 0],
  ['packages/a/test/a.test.ts', 'a\n'.repeat(801), 1],
  ['packages/a/test/support/driver-mutants.ts', 'a\n'.repeat(1_200), 0],
  ['packages/a/README.md', 'a\n'.repeat(131), 1],
  ['docs/big.txt', 'a'.repeat(256 * 1024), 0],
  ['docs/big.txt', 'a'.repeat(256 * 1024 + 1), 1],
  ['packages/a/vectors/big.bin', 'a'.repeat(1024 * 1024), 0],
  ['packages/a/vectors/big.bin', 'a'.repeat(4 * 1024 * 1024 + 1), 1],
])('%s', (file, content, status) => {
  const result = check(file, content);
  expect(result.status).toBe(status);
  if (status === 1) expect(result.output).toContain(file);
});

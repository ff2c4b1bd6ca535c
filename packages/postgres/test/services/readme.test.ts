import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { postgresUrl } from './harness.mjs';

test('the example of the README runs', () => {
  const home = fileURLToPath(new URL('../..', import.meta.url));
  const page = readFileSync(`${home}README.md`, 'utf8');
  const [, code] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code ?? ''], {
    cwd: home,
    env: { ...process.env, DATABASE_URL: postgresUrl() },
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect([status, stderr]).toEqual([0, '']);
});

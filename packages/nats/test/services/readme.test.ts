import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { natsUrl } from './harness.mjs';

test('the example of the README runs', () => {
  const home = fileURLToPath(new URL('../..', import.meta.url));
  const page = readFileSync(`${home}README.md`, 'utf8');
  const [, code] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', code ?? ''],
    {
      cwd: home,
      env: { ...process.env, NATS_URL: natsUrl() },
      encoding: 'utf8',
      timeout: 60_000,
    },
  );
  expect([status, stdout, stderr]).toEqual([0, 'unsynced\n', '']);
});

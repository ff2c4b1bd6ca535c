import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, test } from 'vitest';

import { testTakeovers } from '../../../../tools/takeover/cases.mjs';

const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-redis-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

testTakeovers(test, {
  service: 'redis',
  engine: new URL('engine.mjs', import.meta.url).href,
  environment: () => {
    const name = randomBytes(6).toString('hex');
    return {
      ...process.env,
      HOLDFAST_TEST_PREFIX: `takeover:${name}:`,
      HOLDFAST_TEST_DIRECTORY: path.join(directory, name),
    };
  },
});

import { expect, test } from 'vitest';

import { runReadme } from '../../../../tools/engines/suites.mjs';
import { postgresUrl } from './harness.mjs';

test('the example of the README runs', () => {
  const ended = runReadme(new URL('../../', import.meta.url), { DATABASE_URL: postgresUrl() });
  expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
});

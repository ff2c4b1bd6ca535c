import { expect, test } from 'vitest';

import { runReadme } from '../../../../tools/engines/suites.mjs';
import { natsUrl } from './harness.mjs';

test('the example of the README runs', () => {
  const ended = runReadme(new URL('../../', import.meta.url), { NATS_URL: natsUrl() });
  expect(ended).toEqual({ status: 0, stdout: 'unsynced\n', stderr: '' });
});

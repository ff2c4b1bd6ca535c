import { defineProject } from 'vitest/config';

import { sourceConditions } from '../../vitest.shared.js';

export default defineProject({
  ...sourceConditions,
  test: { name: 'session', include: ['test/**/*.test.ts'] },
});

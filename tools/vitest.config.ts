import { defineProject } from 'vitest/config';

import { sourceConditions } from '../vitest.shared.js';

export default defineProject({
  ...sourceConditions,
  test: {
    name: 'tools',
    include: ['**/*.test.ts'],
    // These tests start compilers and test runners, which take their time on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});

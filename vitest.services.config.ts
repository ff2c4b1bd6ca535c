import { defineConfig } from 'vitest/config';

import { patientSources } from './vitest.shared.js';

/** Tests that need real servers: `npm run test:services` starts them. One file at a time: a test may kill its server. */
export default defineConfig({
  ...patientSources,
  test: {
    name: 'services',
    include: ['{packages,examples}/*/test/services/**/*.test.ts', 'tools/test/services/**/*.test.ts'],
    setupFiles: ['tools/services/all-serve.mjs'],
    fileParallelism: false,
  },
});

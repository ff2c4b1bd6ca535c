import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // The example ledger is run by itself until its take-over test has been explained: see CONTRIBUTING.md.
    projects: ['packages/*/vitest.config.ts', 'tools/vitest.config.ts'],
    maxWorkers: 2,
  },
});

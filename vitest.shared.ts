import type { Plugin } from 'vitest/config';

/** Vitest's five seconds are a wager on an idle machine. A test that hangs is still ended. */
const leastTimeoutMs = 120_000;

const patientTests: Plugin = {
  name: 'patient-tests',
  config: ({ test }) => ({
    test: {
      testTimeout: Math.max(leastTimeoutMs, test?.testTimeout ?? 0),
      hookTimeout: Math.max(leastTimeoutMs, test?.hookTimeout ?? 0),
    },
  }),
};

const conditions = ['@holdfast/source', 'node', 'import', 'default'];

/**
 * What every project's configuration starts from.
 *
 * Tests import packages by their public names; the condition maps those names to the sources, so a test run needs no
 * build. Child processes started by tests run the built files instead: build before running process tests.
 */
export const sourceConditions: {
  plugins: Plugin[];
  resolve: { conditions: string[] };
  ssr: { resolve: { conditions: string[] } };
} = {
  plugins: [patientTests],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
};

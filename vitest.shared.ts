import { configDefaults, type Plugin } from 'vitest/config';

/**
 * Vitest's five seconds for a test, and the one second for what is polled, are a wager on an idle machine. A test that
 * hangs is still ended.
 */
const leastTimeoutMs = 300_000;

const patientTests: Plugin = {
  name: 'patient-tests',
  config: ({ test }) => ({
    test: {
      testTimeout: Math.max(leastTimeoutMs, test?.testTimeout ?? 0),
      hookTimeout: Math.max(leastTimeoutMs, test?.hookTimeout ?? 0),
      expect: { poll: { timeout: leastTimeoutMs / 2 } },
    },
  }),
};

/** Tests that need real servers have a configuration of their own, which names their directories. */
const withoutServers: Plugin = {
  name: 'without-servers',
  config: () => ({ test: { exclude: [...configDefaults.exclude, '**/test/services/**'] } }),
};

// Without `import`, which the resolver adds where something is imported: workers would apply it to `require` as well.
const conditions = ['@holdfast/source', 'node'];

/** How tests find packages, and how patient they are. */
export const patientSources: {
  plugins: Plugin[];
  resolve: { conditions: string[] };
  ssr: { resolve: { conditions: string[] } };
} = {
  plugins: [patientTests],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
};

/**
 * What every project's configuration starts from.
 *
 * Tests import packages by their public names; the condition maps those names to the sources, so a test run needs no
 * build. Child processes started by tests run the built files instead: build before running process tests.
 */
export const sourceConditions: typeof patientSources = {
  ...patientSources,
  plugins: [patientTests, withoutServers],
};

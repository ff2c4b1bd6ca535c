/**
 * Tests import packages by their public names; this condition maps those names to the sources, so a test run needs no build.
 * Child processes started by tests run the built files instead: build before running process tests.
 */
export const sourceConditions: {
  resolve: { conditions: string[] };
  ssr: { resolve: { conditions: string[] } };
} = {
  resolve: { conditions: ['@holdfast/source', 'node', 'import', 'default'] },
  ssr: { resolve: { conditions: ['@holdfast/source', 'node', 'import', 'default'] } },
};

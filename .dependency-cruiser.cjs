// The table of layers is data that `tools/check-boundaries` reads as well.
const layers = require('./tools/check-boundaries/layers.json');

const names = Object.keys(layers);

/** One rule per package: everything of ours that it may not reach. */
const direction = names.map((name) => ({
  name: `direction-${name}`,
  comment: `packages/${name} may use: ${layers[name].join(', ') || 'no other package'}`,
  severity: 'error',
  from: { path: `^packages/${name}/src/` },
  to: { path: '^packages/', pathNot: `^packages/(${[name, ...layers[name]].join('|')})/` },
}));

module.exports = {
  forbidden: [
    ...direction,
    {
      name: 'no-cycles',
      comment:
        'a cycle has no order in which it can be read, built or tested; types alone may refer to each other',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-internal-of-others',
      comment: 'src/internal is not reachable through exports and may change at any time',
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: { path: '^packages/[^/]+/src/internal/', pathNot: '^packages/$1/' },
    },
    {
      name: 'no-testing-in-sources',
      comment:
        'harnesses and fakes are for tests and other harnesses; one command runs the suites on a backend of a user',
      severity: 'error',
      from: {
        path: '^packages/[^/]+/src/',
        pathNot: ['^packages/[^/]+/src/testing/', '^packages/cli/src/commands/verify-backend\\.ts$'],
      },
      to: { path: '^packages/[^/]+/src/testing/' },
    },
    {
      name: 'no-tools-in-packages',
      comment: 'nothing in tools/ is imported by a package',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/' },
      to: { path: '^(tools|examples|docs)/' },
    },
    {
      name: 'no-test-in-sources',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/' },
      to: { path: '^packages/[^/]+/test/' },
    },
    {
      name: 'not-resolvable',
      comment: 'an import that resolves to nothing',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|coverage)/' },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    tsConfig: { fileName: 'tsconfig.tests.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@holdfast/source', 'node', 'import', 'types', 'default'],
      extensions: ['.ts', '.mjs', '.js', '.json', '.d.ts'],
    },
  },
};

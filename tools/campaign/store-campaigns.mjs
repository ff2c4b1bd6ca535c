/** The campaigns of the workspace store, a part of the table.
 *
 * @type {readonly import('./table.mjs').Campaign[]} */
export const storeCampaigns = [
  {
    name: 'generated-trees',
    package: 'workspacestore',
    proves: 'capturing, materializing and capturing again is a fixed point for generated trees',
    files: ['packages/workspacestore/test/round-trip.test.ts'],
    test: 'keeps bytes, names and modes',
    bounded: { HOLDFAST_GENERATED_TREES: 1_000 },
    round: { HOLDFAST_GENERATED_TREES: 500 },
    goal: { unit: 'generated trees', count: 20_000 },
    weight: 3,
    limitSeconds: 1_800,
    planted: [
      { mistake: 'modes are not set', test: 'packages/workspacestore/test/round-trip.test.ts' },
      {
        mistake: 'a file is made with one of its writes left out',
        test: 'packages/workspacestore/test/round-trip.test.ts',
      },
      {
        mistake: 'names are written in another form of Unicode',
        test: 'packages/workspacestore/test/round-trip.test.ts',
      },
    ],
  },
  {
    name: 'collections',
    package: 'workspacestore',
    proves: 'no order of writers and two collectors loses a ref that somebody may need',
    files: ['packages/workspacestore/test/collect-interleavings.test.ts'],
    test: 'loses nothing and leaves nothing behind',
    bounded: { HOLDFAST_INTERLEAVINGS: 30 },
    round: { HOLDFAST_INTERLEAVINGS: 50 },
    goal: { unit: 'interleavings of collections and writers', count: 1_000 },
    weight: 2,
    limitSeconds: 600,
    planted: [
      {
        mistake: 'collectors retire nobody',
        test: 'packages/workspacestore/test/collect-interleavings.test.ts',
      },
      {
        mistake: 'collectors see no logs',
        test: 'packages/workspacestore/test/collect-interleavings.test.ts',
      },
    ],
  },
  {
    name: 'collect-kills',
    package: 'workspacestore',
    proves:
      'SIGKILL at any change of a process that snapshots, maintains or collects loses no ref that was given out and leaves nothing',
    files: ['packages/workspacestore/test/kills.test.ts'],
    test: 'times ',
    bounded: { HOLDFAST_COLLECT_KILLS: 6 },
    round: { HOLDFAST_COLLECT_KILLS: 40 },
    goal: { unit: 'stores killed', count: 300 },
    weight: 2,
    limitSeconds: 1_800,
    onlyLong: true,
    planted: [
      'archives are deleted before records',
      'collectors see no logs',
      'collectors delete no archives',
    ].map((mistake) => ({ mistake, test: 'packages/workspacestore/test/kills.test.ts' })),
  },
  {
    name: 'collection-states',
    package: 'workspacestore',
    proves: 'no order of the steps of writers, merges and collectors loses a ref that somebody may need',
    files: ['packages/workspacestore/test/collection-model.test.ts'],
    test: 'loses nothing',
    bounded: { HOLDFAST_MODEL_STATES: 20_000 },
    round: { HOLDFAST_MODEL_STATES: 1_000_000 },
    goal: undefined,
    weight: 1,
    limitSeconds: 3_600,
    onlyLong: true,
    planted: [
      { mistake: 'commits are not held', test: 'packages/workspacestore/test/collection-model.test.ts' },
      {
        mistake: 'decisions are put over others',
        test: 'packages/workspacestore/test/collection-model.test.ts',
      },
    ],
  },
  {
    name: 'damaged-stores',
    package: 'workspacestore',
    proves:
      'every flipped bit and every truncation of every blob of a store is found, and never read as something else',
    files: ['packages/workspacestore/test/damage.test.ts'],
    test: 'is found by a deep verification',
    bounded: {},
    round: { HOLDFAST_CAMPAIGN: 1 },
    goal: undefined,
    weight: 2,
    limitSeconds: 7_200,
    onlyLong: true,
    planted: [
      {
        mistake: 'a verification that looks at indexes and trees only',
        test: 'packages/workspacestore/test/damage.test.ts',
      },
    ],
  },
];

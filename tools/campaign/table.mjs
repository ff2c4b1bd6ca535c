import { planted } from '../crash/planted.mjs';
import { storeCampaigns } from './store-campaigns.mjs';

/**
 * The campaigns: what is tried, how often in CI and in a long run, and what each is known to find. `campaign.mjs` runs
 * them; `docs/reliability.md` explains them. A round is a child process; it prints its seed and its counterexample.
 */

/**
 * @typedef {object} PlantedBug A mistake that is made on purpose, and the test that sees the harness find it.
 * @property {string} mistake
 * @property {string} test The file of the test.
 */

/**
 * @typedef {object} Campaign
 * @property {string} name
 * @property {string} package What is being tried.
 * @property {string} proves The promise that a violation would break.
 * @property {string} [directory] Where vitest is started; the root of the repository by default.
 * @property {readonly string[]} [files] Test files for vitest.
 * @property {string} [test] Only tests with this in their names.
 * @property {readonly string[]} [program] A program of this repository and its arguments, instead of test files.
 * @property {Readonly<Record<string, string | number>>} bounded Environment of the bounded round that CI runs.
 * @property {Readonly<Record<string, string | number>>} round Environment of one round of a long run.
 * @property {{ readonly unit: string, readonly count: number } | undefined} goal When a long run is over; none: after one round.
 * @property {number} weight Share of the time of a long run.
 * @property {number} limitSeconds A round that takes longer has failed.
 * @property {boolean} [onlyLong] Not in CI's campaign step: another step runs it with its bounded counts.
 * @property {readonly PlantedBug[]} planted
 */

const restoreTests = 'packages/restore/test';

/** @type {readonly Campaign[]} */
export const campaigns = [
  {
    name: 'crash-states',
    package: 'durable, blobs, journal, lease, restore, workspacestore',
    proves:
      'whole protocols keep their promises on every disk that one crash, or a second one of the recovery, can leave',
    program: ['tools/crash/crash.mjs'],
    bounded: { HOLDFAST_SINGLE_STATES: 10_000, HOLDFAST_DOUBLE_STATES: 20_000 },
    round: { HOLDFAST_SINGLE_STATES: 10_000, HOLDFAST_DOUBLE_STATES: 40_000 },
    goal: { unit: 'disks after two crashes', count: 1_000_000 },
    weight: 8,
    limitSeconds: 1_800,
    planted: planted.map(([subject, mistake]) => ({
      mistake: `${subject}: ${mistake}`,
      test: 'tools/crash/crash.test.ts',
    })),
  },
  {
    name: 'real-disks',
    package: 'durable, blobs, journal, lease, restore, workspacestore',
    proves: 'the same protocols keep them on ext4 and xfs that are shut down without writing anything back',
    program: ['tools/crash/disk/campaign.mjs'],
    bounded: { HOLDFAST_DISK_POINTS: 30 },
    round: { HOLDFAST_DISK_POINTS: 18 },
    goal: { unit: 'crash points on ext4', count: 250 },
    weight: 5,
    limitSeconds: 1_200,
    planted: [{ mistake: 'no sync reaches the disk', test: 'tools/crash/disk/disk.test.ts' }],
  },
  {
    name: 'decoders',
    package: 'base, cli, journal, lease, restore, session, workspacestore',
    proves: 'every decoder accepts an input or refuses it with an error of ours; none hangs',
    program: ['tools/fuzz/fuzz.mjs'],
    bounded: { HOLDFAST_FUZZ_INPUTS: 200_000 },
    round: { HOLDFAST_FUZZ_INPUTS: 1_000_000 },
    goal: { unit: 'inputs of the strict tar reader', count: 5_000_000 },
    weight: 4,
    limitSeconds: 1_800,
    planted: [
      { mistake: 'a decoder that uses what it did not check', test: 'tools/fuzz/fuzz.test.ts' },
      { mistake: 'a decoder that gives its own mistakes a code', test: 'tools/fuzz/fuzz.test.ts' },
      { mistake: 'a decoder that waits for an end that does not come', test: 'tools/fuzz/fuzz.test.ts' },
    ],
  },
  {
    name: 'restore-crash-states',
    package: 'restore',
    proves:
      'a crash at any instruction of a restore, and one of its recovery, leaves the old tree or the new one',
    files: ['crash-reconcile', 'crash-swap', 'crash'].map((name) => `${restoreTests}/${name}.test.ts`),
    bounded: { HOLDFAST_CRASH_STATES: 200_000 },
    round: { HOLDFAST_CRASH_STATES: 100_000 },
    goal: { unit: 'disks after two crashes', count: 1_000_000 },
    weight: 6,
    limitSeconds: 1_800,
    onlyLong: true,
    planted: [
      { mistake: 'any of 13 syncs of a restore is left out', test: `${restoreTests}/mutants.test.ts` },
      { mistake: 'a step of a restore comes after the next one', test: `${restoreTests}/mutants.test.ts` },
      { mistake: 'the journal is told too early', test: `${restoreTests}/mutants.test.ts` },
    ],
  },
  {
    name: 'restore-kills',
    package: 'restore',
    proves: 'SIGKILL at any change of a restore on the real disk leaves the old tree or the new one',
    files: [`${restoreTests}/killed.test.ts`],
    bounded: { HOLDFAST_KILLS: 30 },
    round: { HOLDFAST_KILLS: 150 },
    goal: { unit: 'restores killed', count: 300 },
    weight: 2,
    limitSeconds: 600,
    onlyLong: true,
    planted: [
      { mistake: 'a restore that writes in place and notes nothing', test: `${restoreTests}/killed.test.ts` },
    ],
  },
  {
    name: 'restore-races',
    package: 'restore',
    proves:
      'an enemy that swaps directories for links never leads a restore, its undo or its recovery out of the root',
    files: [`${restoreTests}/races.test.ts`, `${restoreTests}/attacked-phases.test.ts`],
    bounded: { HOLDFAST_RACE_ATTEMPTS: 5_000 },
    round: { HOLDFAST_RACE_ATTEMPTS: 50_000 },
    goal: { unit: 'anchored operations of restores under attack', count: 100_000 },
    weight: 2,
    limitSeconds: 900,
    onlyLong: true,
    planted: [
      {
        mistake: 'a restore that looks first and then writes by path',
        test: `${restoreTests}/races.test.ts`,
      },
      {
        mistake: 'plan, stage, a pass, rollback, recovery or sweep goes by path',
        test: `${restoreTests}/attacked-phases.test.ts`,
      },
    ],
  },
  {
    name: 'path-races',
    package: 'durable',
    proves:
      'no anchored walk, publication or deletion leaves its directory while another process swaps it for a link',
    files: ['packages/durable/test/races.test.ts'],
    bounded: { HOLDFAST_RACE_ATTEMPTS: 5_000 },
    round: { HOLDFAST_RACE_ATTEMPTS: 50_000 },
    goal: { unit: 'anchored operations of walks under attack', count: 50_000 },
    weight: 1,
    limitSeconds: 600,
    onlyLong: true,
    planted: [
      { mistake: 'a walk by path', test: 'packages/durable/test/races.test.ts' },
      { mistake: 'publishing by path', test: 'packages/durable/test/races.test.ts' },
      { mistake: 'a deletion by path', test: 'packages/durable/test/races.test.ts' },
    ],
  },
  {
    name: 'session-kills',
    package: 'rig',
    proves:
      'SIGKILL at any boundary of a session leaves one that opens, agrees with its files and has lost nothing',
    files: ['packages/rig/test/processes.test.ts'],
    test: 'a killed process',
    bounded: { HOLDFAST_KILLS: 15 },
    round: { HOLDFAST_KILLS: 25 },
    goal: { unit: 'sessions killed', count: 300 },
    weight: 3,
    limitSeconds: 900,
    onlyLong: true,
    planted: [
      { mistake: 'a ledger that acknowledges before it writes', test: 'packages/rig/test/processes.test.ts' },
    ],
  },
  {
    name: 'lease-takeovers',
    package: 'lease',
    proves:
      'eight processes that are killed and stopped at random exclude each other on four leases; epochs rise',
    files: ['packages/lease/test/processes.test.ts'],
    test: 'eight processes',
    bounded: { HOLDFAST_LEASE_TAKEOVERS: 300 },
    round: { HOLDFAST_LEASE_TAKEOVERS: 500 },
    goal: { unit: 'take-overs of leases', count: 3_000 },
    weight: 3,
    limitSeconds: 1_200,
    onlyLong: true,
    planted: [
      { mistake: 'somebody enters while another one is inside', test: 'packages/lease/test/history.test.ts' },
      { mistake: 'an epoch is granted again', test: 'packages/lease/test/history.test.ts' },
      {
        mistake: 'somebody works after another one has entered',
        test: 'packages/lease/test/history.test.ts',
      },
    ],
  },
  {
    name: 'ledger-takeovers',
    package: 'journal',
    proves: 'stopped writers that were taken over: every acknowledged append exactly once, no stale one',
    directory: 'examples/file-ledger',
    files: ['test/takeover.test.mjs'],
    bounded: { HOLDFAST_LEDGER_TAKEOVERS: 300 },
    round: { HOLDFAST_LEDGER_TAKEOVERS: 300 },
    goal: { unit: 'take-overs of the file ledger', count: 3_000 },
    weight: 3,
    limitSeconds: 1_800,
    onlyLong: true,
    planted: [
      {
        mistake: 'a ledger that appends wherever the end is',
        test: 'examples/file-ledger/test/takeover.test.mjs',
      },
    ],
  },
  {
    name: 'postgres-takeovers',
    package: 'postgres',
    proves:
      'owners that are stopped, overtaken and woken over Postgres: every acknowledged append exactly once, no stale one',
    program: ['tools/run-services.mjs', 'postgres', 'packages/postgres/test/services/takeover.test.ts'],
    bounded: { HOLDFAST_ENGINE_TAKEOVERS: 300 },
    round: { HOLDFAST_ENGINE_TAKEOVERS: 500 },
    goal: { unit: 'take-overs over postgres', count: 3_000 },
    weight: 2,
    limitSeconds: 1_800,
    onlyLong: true,
    planted: [
      { mistake: 'the fence is not looked at', test: 'packages/postgres/test/services/faults.test.ts' },
    ],
  },
  {
    name: 'nats-takeovers',
    package: 'nats',
    proves:
      'owners that are stopped, overtaken and woken over NATS: every acknowledged append exactly once, no stale one',
    program: ['tools/run-services.mjs', 'nats', 'packages/nats/test/services/takeover.test.ts'],
    bounded: { HOLDFAST_ENGINE_TAKEOVERS: 300 },
    round: { HOLDFAST_ENGINE_TAKEOVERS: 500 },
    goal: { unit: 'take-overs over nats', count: 3_000 },
    weight: 2,
    limitSeconds: 1_800,
    onlyLong: true,
    planted: [{ mistake: 'the fence is not looked at', test: 'packages/nats/test/services/faults.test.ts' }],
  },
  {
    name: 'redis-takeovers',
    package: 'lease, journal',
    proves:
      'owners that are stopped, overtaken and woken over leases in Redis: every acknowledged append exactly once, no stale one',
    program: ['tools/run-services.mjs', 'redis', 'examples/redis-leaser/test/services/takeover.test.ts'],
    bounded: { HOLDFAST_ENGINE_TAKEOVERS: 300 },
    round: { HOLDFAST_ENGINE_TAKEOVERS: 500 },
    goal: { unit: 'take-overs over redis', count: 3_000 },
    weight: 1,
    limitSeconds: 1_800,
    onlyLong: true,
    planted: [
      { mistake: 'an acknowledged append is lost', test: 'tools/takeover/verdict.test.ts' },
      { mistake: 'an append is there twice', test: 'tools/takeover/verdict.test.ts' },
      { mistake: 'a stale append is acknowledged', test: 'tools/takeover/verdict.test.ts' },
    ],
  },
  {
    name: 'histories',
    package: 'journal, lease',
    proves:
      'what clients of a ledger and of a lease are told beside each other is explained by one order of their calls',
    program: ['tools/histories/histories.mjs'],
    bounded: { HOLDFAST_HISTORIES: 10_000 },
    round: { HOLDFAST_HISTORIES: 10_000 },
    goal: { unit: 'histories of a ledger that one order explains', count: 50_000 },
    weight: 1,
    limitSeconds: 600,
    planted: [
      { mistake: 'a ledger that appends wherever the end is', test: 'tools/histories/histories.test.ts' },
      { mistake: 'a ledger that forgets what it says it wrote', test: 'tools/histories/histories.test.ts' },
      { mistake: 'a lease that is granted while it is held', test: 'tools/histories/histories.test.ts' },
      { mistake: 'a lease that grants an epoch again', test: 'tools/histories/histories.test.ts' },
    ],
  },
  {
    name: 'journal-histories',
    package: 'journal',
    proves: 'whatever fails, crashes and takes over, every acknowledged event is there once and in order',
    files: ['packages/journal/test/journal-model.test.ts'],
    bounded: { HOLDFAST_RUNS: 1_000 },
    round: { HOLDFAST_RUNS: 1_000 },
    goal: { unit: 'simulated journal histories', count: 10_000 },
    weight: 1,
    limitSeconds: 900,
    planted: [
      {
        mistake: 'a ledger that appends wherever the end is',
        test: 'packages/journal/test/journal-model.test.ts',
      },
      {
        mistake: 'a ledger that acknowledges what it did not write',
        test: 'packages/journal/test/journal-model.test.ts',
      },
    ],
  },
  {
    name: 'lease-histories',
    package: 'lease',
    proves: 'any sequence of calls agrees with a reference, in memory and on the strict crash model',
    files: ['packages/lease/test/model.test.ts'],
    bounded: { HOLDFAST_RUNS: 1_000 },
    round: { HOLDFAST_RUNS: 2_000 },
    goal: { unit: 'sequences of lease calls against a reference', count: 20_000 },
    weight: 1,
    limitSeconds: 900,
    planted: [
      { mistake: 'a leaser that keeps every view to itself', test: 'packages/lease/test/model.test.ts' },
      { mistake: 'a leaser that counts epochs per view', test: 'packages/lease/test/model.test.ts' },
      {
        mistake: 'a leaser that forgets the counter when the last view is closed',
        test: 'packages/lease/test/model.test.ts',
      },
      {
        mistake: 'a leaser that frees the name, whoever has it, at every release',
        test: 'packages/lease/test/model.test.ts',
      },
      {
        mistake: 'a leaser that does not tell the holder that its time has run out',
        test: 'packages/lease/test/model.test.ts',
      },
    ],
  },
  ...storeCampaigns,
  {
    name: 'damaged-databases',
    package: 'level',
    proves: 'every flipped bit and every truncation of a session on disk is whole or refused, never wrong',
    files: ['packages/level/test/damage.test.ts'],
    bounded: {},
    round: { HOLDFAST_CAMPAIGN: 1 },
    goal: undefined,
    weight: 2,
    limitSeconds: 1_800,
    onlyLong: true,
    planted: [{ mistake: 'what was acknowledged is not noted', test: 'packages/level/test/damage.test.ts' }],
  },
];

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { repositoryRoot } from '../shared/workspace.mjs';
import { fileSystemOf } from './machine.mjs';
import { writeReport } from './report.mjs';
import { readCounts, runRound } from './run-round.mjs';
import { isOver, nextCampaign } from './schedule.mjs';
import { emptyState, progressOf, readState, writeState } from './state.mjs';
import { type Campaign, campaigns } from './table.mjs';

const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-campaign-test-'));
afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

function campaign(name: string, more: Partial<Campaign> = {}): Campaign {
  return {
    name,
    package: 'base',
    proves: `that ${name} holds`,
    program: [`${name}.mjs`],
    bounded: {},
    round: {},
    goal: { unit: 'things', count: 10 },
    weight: 1,
    limitSeconds: 20,
    planted: [{ mistake: 'a mistake', test: 'a.test.ts' }],
    ...more,
  };
}

async function round(name: string, program: string, limitMs = 20_000) {
  writeFileSync(path.join(scratch, `${name}.mjs`), program);
  return await runRound(campaign(name, { bounded: { HOLDFAST_N: 3 } }), {
    bounded: true,
    seed: 7,
    limitMs,
    root: scratch,
  });
}

/** Also `true` for a process that has ended and that nobody has asked about. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform === 'linux' && readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return true;
  }
}

const counting = "import { appendFileSync } from 'node:fs';\n";

describe('the table', () => {
  it('names every campaign once, and only files that exist', () => {
    expect(new Set(campaigns.map(({ name }) => name)).size).toBe(campaigns.length);
    for (const { name, directory = '.', files = [], program = [], planted } of campaigns) {
      const run = [...files.map((file) => path.join(directory, file)), ...program.slice(0, 1)];
      expect(run.length, name).toBeGreaterThan(0);
      for (const file of [...run, ...planted.map(({ test }) => test)])
        expect(existsSync(path.join(repositoryRoot, file)), `${name}: ${file}`).toBe(true);
    }
  });

  it('plants at least ten mistakes, all of them listed in the documentation', () => {
    const planted = campaigns.flatMap(({ name, planted: own }) =>
      own.map(({ mistake }) => `- ${name}: ${mistake}`),
    );
    expect(campaigns.filter((campaign) => campaign.planted.length === 0).map(({ name }) => name)).toEqual([]);
    const page = readFileSync(path.join(repositoryRoot, 'docs/reliability.md'), 'utf8').split('\n');
    expect(planted.filter((line) => !page.includes(line))).toEqual([]);
  });
});

describe('a round', () => {
  it('gives its program a seed, the settings and a file for counts', async () => {
    const line =
      'appendFileSync(process.env.HOLDFAST_COUNTS, \'{"unit":"things","count":\' + process.env.HOLDFAST_N + \'}\\n\');';
    const program = `${counting}${line}\n${line}\nconsole.log('seed', process.env.HOLDFAST_SEED);\n`;
    expect(await round('fine', program)).toMatchObject({
      ok: true,
      counts: { things: 6 },
      leftOut: undefined,
      story: 'seed 7',
    });
  });

  it('keeps the end of the output of a failure', async () => {
    const result = await round(
      'bad',
      "for (let i = 0; i < 500; i += 1) console.log('line', i);\nprocess.exitCode = 1;\n",
    );
    expect(result.ok).toBe(false);
    expect(result.story.split('\n')).toHaveLength(60);
    expect(result.story).toMatch(/line 499$/);
  });

  it('says why something cannot run here', async () => {
    expect(await round('left', "console.log('left out: no privileges');")).toMatchObject({
      ok: true,
      leftOut: 'no privileges',
    });
  });

  it('ends a program that does not, with the processes that it started', async () => {
    const file = path.join(scratch, 'child');
    const child = 'setInterval(() => {}, 1000)';
    const program = `import { spawn } from 'node:child_process';\n${counting}
const child = spawn(process.execPath, ['-e', ${JSON.stringify(child)}]);
appendFileSync(${JSON.stringify(file)}, String(child.pid));\nsetInterval(() => {}, 1000);\n`;
    const result = await round('endless', program, 3_000);
    expect(result).toMatchObject({ ok: false });
    expect(result.story).toMatch(/ended after 3 s/);
    const pid = Number(readFileSync(file, 'utf8'));
    await expect.poll(() => isGone(pid)).toBe(true);
  });

  it('ignores a count that was cut off', () => {
    expect(readCounts('{"unit":"a","count":1}\n{"unit":"a","count":2}\n{"unit":"b",')).toEqual({ a: 3 });
  });
});

describe('turns', () => {
  it('start with each once, then go by time and weight, until the goals are reached', () => {
    const table = [
      campaign('light'),
      campaign('heavy', { weight: 3 }),
      campaign('once', { goal: undefined }),
    ];
    const state = emptyState();
    const turns: string[] = [];
    for (let turn = 0; turn < 9; turn += 1) {
      const next = nextCampaign(table, state, 1);
      if (next === undefined) break;
      turns.push(next.name);
      const progress = progressOf(state, next.name, 1);
      progress.rounds += 1;
      progress.seconds += 10;
      progress.counts['things'] = progress.rounds * 2;
    }
    expect(turns).toEqual(['light', 'heavy', 'once', 'heavy', 'heavy', 'light', 'heavy', 'heavy', 'light']);
    const heavy = progressOf(state, 'heavy', 1);
    expect(isOver(campaign('heavy'), heavy)).toBe(true);
    expect(isOver(campaign('heavy'), { ...heavy, counts: { things: 9 } })).toBe(false);
    expect(isOver(campaign('heavy'), { ...heavy, counts: {}, leftOut: 'no disk' })).toBe(true);
    const failed = [1, 2, 3].map((round) => ({ seed: round, round, story: 'lost' }));
    expect(isOver(campaign('heavy'), { ...heavy, counts: {}, violations: failed })).toBe(true);
    expect(isOver(campaign('heavy'), { ...heavy, counts: {}, violations: failed.slice(1) })).toBe(false);
  });

  it('go on from what was kept', () => {
    const file = path.join(scratch, 'kept', 'state.json');
    expect(readState(file)).toBeUndefined();
    const state = emptyState('2026-01-01T00:00:00.000Z');
    progressOf(state, 'a', 5).counts['things'] = 4;
    writeState(file, state);
    expect(progressOf(readState(file) ?? emptyState(), 'a', 9)).toMatchObject({
      firstSeed: 5,
      counts: { things: 4 },
    });
    writeFileSync(file, '{"version":2}');
    expect(() => readState(file)).toThrow(/another version/);
  });
});

describe('the report', () => {
  const machine = {
    node: 'v20',
    system: 'Linux',
    processor: 'A | B',
    processors: 2,
    memory: '8 GiB',
    fileSystem: fileSystemOf('/'),
    commit: 'abc',
  };

  it('shows what was done, what was left out and every counterexample', () => {
    const state = emptyState('2026-01-01T00:00:00.000Z');
    Object.assign(progressOf(state, 'a', 5), { rounds: 2, seconds: 75, counts: { things: 12_345 } });
    Object.assign(progressOf(state, 'b', 5), {
      rounds: 1,
      seconds: 5,
      counts: { things: 3 },
      violations: [{ seed: 5, round: 1, story: 'lost: ```x```' }],
    });
    progressOf(state, 'c', 5).leftOut = 'no privileges';
    const text = writeReport({
      campaigns: [campaign('a'), campaign('b'), campaign('c'), campaign('d')],
      state,
      machine,
      ended: '2026-01-02T00:00:00.000Z',
      options: '--minutes 5',
    });
    expect(text).toContain('# Campaign of 2026-01-02');
    expect(text).toContain(
      '**1 violation(s)**, 0 of them rounds that did not end in their time, in 2 campaigns',
    );
    expect(text).toContain(
      '| a | that a holds | 12,345 things | 10 things | 5–1005 by 1000 | 2 | 1 min 15 s | 0 |',
    );
    expect(text).toContain('- b: 7 of 10 things, for want of time');
    expect(text).toContain('- c: no privileges');
    expect(text).toContain('- d: its turn did not come');
    expect(text).toContain("### b, round 1, seed 5\n\n```text\nlost: '''x'''\n```");
    expect(text).toContain('A \\| B');
    expect(text).toContain('- a: a mistake (`a.test.ts`)');
  });

  it('does not call a round whole that did not end', () => {
    const state = emptyState('2026-01-01T00:00:00.000Z');
    const progress = progressOf(state, 'a', 5);
    progress.rounds = 1;
    progress.violations.push({ seed: 5, round: 1, story: 'ended after 20 s without a result' });
    const machine = {
      node: 'v20',
      system: 's',
      processor: 'p',
      processors: 1,
      memory: '1 GiB',
      fileSystem: 'ext4',
      commit: 'c',
    };
    const ended = '2026-01-02T00:00:00.000Z';
    const text = writeReport({ campaigns: [campaign('a')], state, machine, ended, options: '' });
    expect(text).toContain('**1 violation(s)**, 1 of them rounds that did not end in their time,');
    expect(text).toContain('| nothing counted |');
  });
});

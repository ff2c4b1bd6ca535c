import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { compareTrees, listTree } from '../oracle/oracle.mjs';
import { editTree, listFiles } from './edits.mjs';
import { SeededNumbers } from './random.mjs';
import { describeRuns, describeShares } from './report.mjs';
import { median, timed } from './timed.mjs';
import { provideTree, treeKinds } from './trees.mjs';

const place = mkdtempSync(path.join(tmpdir(), 'bench-test-'));
afterAll(() => {
  rmSync(place, { recursive: true });
});
const small = treeKinds['small'];
if (small === undefined) throw new Error('there is no small tree');
const build = (name: string, seed: number) => provideTree(path.join(place, name), small, seed);

describe('trees and edits', () => {
  it('builds the same tree from the same seed, and another one from another', () => {
    const [one, again, other] = [build('one', 7), build('again', 7), build('other', 8)];
    expect(compareTrees(one, again)).toEqual([]);
    expect(compareTrees(one, other)).not.toEqual([]);
    expect(listTree(one)).toHaveLength(376);
  });

  it('makes the edits it was asked for, the same ones in equal trees', () => {
    const trees = [build('left', 7), build('right', 7)] as const;
    const files = listFiles(trees[0]);
    const made = trees.map((tree) => editTree(tree, files, 3, { edit: 4, add: 3, remove: 2 }));
    expect(made[0]).toEqual(made[1]);
    expect(compareTrees(trees[0], trees[1])).toEqual([]);
    const changed = compareTrees(trees[0], build('untouched', 7));
    const count = (what: string) =>
      new Set(changed.filter((one) => one.what === what).map((one) => one.path)).size;
    expect({ edited: count('sha256'), added: count('only-in-a'), removed: count('only-in-b') }).toEqual({
      edited: 4,
      added: 3,
      removed: 2,
    });
  });

  it('gives the same numbers for a seed, spread over their range', () => {
    const numbers = new SeededNumbers(1);
    const list = Array.from({ length: 2000 }, () => numbers.below(10));
    const again = new SeededNumbers(1);
    expect(list).toEqual(Array.from({ length: 2000 }, () => again.below(10)));
    for (let digit = 0; digit < 10; digit += 1) {
      expect(list.filter((one) => one === digit).length).toBeGreaterThan(120);
    }
  });
});

describe('report', () => {
  const machine = { cpu: 'a', cores: 1, memoryGiB: 1, system: 's', node: 'n', fileSystem: 'f' };
  const row = (peer: string, wall: number) => ({
    tree: 'small',
    peer,
    operation: 'unchanged',
    measure: { wall, cpu: 0, shares: { scan: wall / 2 } },
  });

  it('shows medians and ratios within one run; a later run replaces an earlier one', () => {
    const rows = [row('git', 2), row('git', 4), row('git', 3), row('holdfast', 1.5), row('restic', 9)];
    const first = { date: '2026-01-01', machine, rows };
    expect(describeRuns([first])).toContain(
      '| unchanged, s | 3.00 (1.00) | 1.50 (0.50) | 9.00 (3.00) | **0.50** | ≤ 1.1 |',
    );
    const second = { date: '2026-01-02', machine, rows: [row('git', 1), row('holdfast', 1)] };
    // What the second run has no figure for keeps its ratio to the git of its own run.
    expect(describeRuns([first, second])).toContain('| 1.00 (1.00) | 1.00 (1.00) | 9.00 (3.00) | **1.00** |');
    expect(describeShares([second])).toBe('- small: unchanged, ms: scan 500.0; in all 1000.0');
  });

  it('takes the middle, or the mean of the two in the middle', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
  });
});

describe('timed', () => {
  it('measures a command with its children and reports a failing one', () => {
    const scratch = path.join(place, 'scratch');
    mkdirSync(scratch);
    const options = { cwd: place, scratch };
    const busy = timed(['sh', '-c', 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'], options);
    expect(busy.cpu).toBeGreaterThan(0);
    expect(busy.wall).toBeGreaterThan(0);
    expect(() => timed(['sh', '-c', 'echo broken >&2; exit 3'], options)).toThrow(/exit status 3[^]*broken/);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { repositoryRoot } from '../shared/workspace.mjs';
import { proofsOf, unproved } from './conformance.mjs';

const page = [
  '| no. | statement | implemented in | proved by |',
  '|---|---|---|---|',
  '| P1 | one | `a.ts` | `a.test.ts` › does one (%s, $name) ★<br>`b.test.ts` › does (two)? |',
  '| R1 | three | `c.ts` | `b.test.ts` › does three |',
].join('\n');

const report = (statuses: Readonly<Record<string, string>>) => ({
  testResults: ['a.test.ts', 'b.test.ts'].map((name) => ({
    name: path.join('/repository', name),
    assertionResults: Object.entries(statuses)
      .filter(([title]) => title.startsWith(name))
      .map(([title, status]) => ({ title: title.slice(name.length + 1), status })),
  })),
});
const good = {
  'a.test.ts does one (fs, x)': 'passed',
  'a.test.ts does one (memory, y)': 'passed',
  'b.test.ts does (two)?': 'passed',
  'b.test.ts does three': 'passed',
};
const problems = (statuses: Readonly<Record<string, string>>): readonly string[] =>
  unproved(proofsOf(page), report(statuses), '/repository');

describe('the page of conformance and a test run', () => {
  it('agree when every named test ran and passed', () => {
    expect(proofsOf(page).map(({ number }) => number)).toEqual(['P1', 'P1', 'R1']);
    expect(problems(good)).toEqual([]);
  });

  it.each(['skipped', 'pending', 'todo', 'failed'])('disagree when one of a table is %s', (status) => {
    expect(problems({ ...good, 'a.test.ts does one (memory, y)': status })).toEqual([
      `P1: a.test.ts › does one (%s, $name): "does one (memory, y)" is ${status}`,
    ]);
  });

  it('disagree when a test has another name, or its file did not run', () => {
    const { 'b.test.ts does three': _gone, ...rest } = good;
    expect(problems({ ...rest, 'b.test.ts does three and more': 'passed' })).toEqual([
      'R1: b.test.ts › does three: there is no such test',
    ]);
    expect(unproved(proofsOf(page), { testResults: [] }, '/repository')).toHaveLength(3);
  });

  it('know the marks of a template', () => {
    const row = '| P1 | one | `a.ts` | `b.test.ts` › after one ${errno} anywhere |';
    const after = (status: string) =>
      unproved(proofsOf(row), report({ 'b.test.ts after one EIO anywhere': status }), '/repository');
    expect(after('passed')).toEqual([]);
    expect(after('failed')).toHaveLength(1);
  });

  it('a row that names no test is an error', () => {
    expect(() => proofsOf('| P1 | one | `a.ts` | obvious |')).toThrow(/P1/);
  });

  it('are compared by a program, which fails on the real page with an empty run', () => {
    const place = mkdtempSync(path.join(tmpdir(), 'holdfast-conformance-'));
    try {
      const file = path.join(place, 'report.json');
      const program = path.join(repositoryRoot, 'tools/check-conformance/check-conformance.mjs');
      const check = () => spawnSync(process.execPath, [program, file], { encoding: 'utf8' });
      writeFileSync(file, '{ "testResults": [] }');
      expect(check()).toMatchObject({ status: 1, stdout: expect.stringContaining('P1: ') as string });
      const real = proofsOf(readFileSync(path.join(repositoryRoot, 'docs/seeds-conformance.md'), 'utf8'));
      const testResults = [...new Set(real.map((proof) => proof.file))].map((name) => ({
        name: path.join(repositoryRoot, name),
        assertionResults: real
          .filter((proof) => proof.file === name)
          .map(({ title }) => ({ title, status: 'passed' })),
      }));
      writeFileSync(file, JSON.stringify({ testResults }));
      expect(check()).toMatchObject({ status: 0 });
    } finally {
      rmSync(place, { recursive: true });
    }
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { run } from './process.mjs';
import { parseTally, Tally } from './tally.mjs';
import { readNodeTestSummary, readVitestReport } from './test-reports.mjs';
import { listFiles, listPackages, publishedEntries } from './workspace.mjs';

describe('Tally', () => {
  test('is red when something failed and when nothing ran', () => {
    const tally = new Tally();
    expect(tally.exitCode).toBe(1);
    tally.count(true);
    expect([tally.exitCode, String(tally)]).toEqual([0, '1 passed, 0 failed']);
    tally.add({ passed: 2, failed: 1 });
    expect([tally.exitCode, String(tally)]).toEqual([1, '3 passed, 1 failed']);
  });

  test('is read back from the last line that has the form', () => {
    expect(parseTally('1 passed, 2 failed\nx 9 passed, 9 failed\n30 passed, 4 failed\n')).toEqual({
      passed: 30,
      failed: 4,
    });
    expect(parseTally('nothing here')).toBeUndefined();
  });
});

describe('run', () => {
  const node = process.execPath;

  test('keeps the output and the exit code', async () => {
    const result = await run(node, ['-e', 'console.log("out"); console.error("err"); process.exit(3)']);
    expect(result).toMatchObject({
      code: 3,
      signal: undefined,
      stdout: 'out\n',
      stderr: 'err\n',
      timedOut: false,
    });
  });

  test('reports a program that cannot be started', async () => {
    const result = await run('no-such-program-here', []);
    expect(result.code).toBe(127);
    expect(result.output).toMatch(/ENOENT/);
  });

  test('never takes a killed program for a good one', async () => {
    const result = await run(node, ['-e', 'process.kill(process.pid, "SIGKILL")']);
    expect(result).toMatchObject({ code: 1, signal: 'SIGKILL' });
  });

  test('kills what runs too long', async () => {
    const result = await run(node, ['-e', 'setInterval(() => undefined, 1000)'], { timeoutMs: 200 });
    expect(result).toMatchObject({ code: 1, timedOut: true });
  });
});

describe('test reports', () => {
  test('count tests, files that could not run, and name what was left out', () => {
    const report = {
      testResults: [
        {
          name: 'a',
          status: 'failed',
          assertionResults: [
            { fullName: 'a one', status: 'passed' },
            { fullName: 'a two', status: 'failed' },
            { fullName: 'a three', status: 'skipped' },
            { fullName: 'a four', status: 'todo' },
          ],
        },
        { name: 'b', status: 'failed', message: 'cannot import', assertionResults: [] },
        { name: 'c', status: 'passed', assertionResults: [{ fullName: 'c', status: 'passed' }] },
      ],
    };
    expect(readVitestReport(report)).toEqual({
      passed: 2,
      failed: 2,
      leftOut: ['skipped test: a three', 'todo test: a four'],
    });
  });

  test('read the summary of node --test', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-tap-'));
    try {
      const file = path.join(directory, 'x.mjs');
      writeFileSync(
        file,
        `import { test } from 'node:test';
test('one', () => {});
test('two', () => { throw new Error('no'); });
test('three', { skip: true }, () => {});
test('four', { todo: true }, () => {});`,
      );
      // The variable that marks a child of a test run would change how the runner reports.
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const result = await run(process.execPath, ['--test', '--test-reporter=tap', file], { env });
      expect(result.code).toBe(1);
      expect(readNodeTestSummary(result.stdout)).toEqual({ passed: 1, failed: 1, skipped: 2 });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('give zeros for a report that is no report', () => {
    expect(readNodeTestSummary('')).toEqual({ passed: 0, failed: 0, skipped: 0 });
  });
});

describe('workspace', () => {
  let root = '';
  beforeAll(() => {
    root = mkdtempSync(path.join(tmpdir(), 'holdfast-workspace-'));
    for (const directory of [
      'packages/b/src',
      'packages/a/node_modules/x',
      'packages/a/dist',
      'packages/not',
    ]) {
      mkdirSync(path.join(root, directory), { recursive: true });
    }
    writeFileSync(path.join(root, 'packages/b/src/index.ts'), '');
    writeFileSync(path.join(root, 'packages/a/node_modules/x/index.js'), '');
    writeFileSync(path.join(root, 'packages/a/dist/index.js'), '');
    const exports = {
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './package.json': './package.json',
    };
    const sub = { './fs': { types: './dist/fs.d.ts', default: './dist/fs.js' } };
    writeFileSync(
      path.join(root, 'packages/a/package.json'),
      JSON.stringify({ name: '@holdfast/a', publishConfig: { exports: { ...exports, ...sub } } }),
    );
    writeFileSync(path.join(root, 'packages/b/package.json'), JSON.stringify({ name: '@holdfast/b' }));
  });
  afterAll(() => {
    rmSync(root, { recursive: true });
  });

  test('lists packages by directory', () => {
    expect(listPackages(root).map((item) => item.directory)).toEqual(['a', 'b']);
  });

  test('lists sources and not what was installed or built', () => {
    expect(listFiles(root)).toEqual([
      'packages/a/package.json',
      'packages/b/package.json',
      'packages/b/src/index.ts',
    ]);
    expect(listFiles(root, (file) => file.endsWith('.ts'))).toEqual(['packages/b/src/index.ts']);
    expect(listFiles(path.join(root, 'absent'))).toEqual([]);
  });

  test('knows the public entry points', () => {
    const [first, second] = listPackages(root);
    expect(first && publishedEntries(first).map((entry) => entry.specifier)).toEqual([
      '@holdfast/a',
      '@holdfast/a/fs',
    ]);
    expect(second && publishedEntries(second)).toEqual([]);
  });

  test('finds the packages of this repository', () => {
    expect(listPackages().map((item) => item.manifest.name)).toContain('@holdfast/base');
  });
});

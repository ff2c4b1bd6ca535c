import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { repositoryRoot } from './shared/workspace.mjs';

function lastLine(text: string): string | undefined {
  return text.trim().split('\n').at(-1);
}

/** The environment without the marks of the test run that this test is part of. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|TEST|NODE_ENV|NODE_OPTIONS|HOLDFAST_)/.test(name),
  );
  return Object.fromEntries(kept);
}

function tool(file: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const script = path.join(repositoryRoot, 'tools', file);
  return spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', env: plainEnvironment() });
}

describe('run-tests', () => {
  test('passes its arguments to vitest, says what it left out, and ends with the total', () => {
    const { status, stdout } = tool('run-tests.mjs', '--project', 'base', 'bytes');
    expect(lastLine(stdout)).toMatch(/^[1-9]\d* passed, 0 failed$/);
    expect(stdout).toMatch(/left out:\n.*\n.*this run is partial/);
    expect(status).toBe(0);
  });

  test('is red when no test ran', () => {
    const { status, stdout } = tool('run-tests.mjs', '--project', 'base', 'bytes', '-t', 'no such test');
    expect(lastLine(stdout)).toBe('0 passed, 0 failed');
    expect(stdout).toMatch(/skipped test: /);
    expect(status).toBe(1);
  });

  test('is red when nothing could be started', () => {
    const { status, stdout } = tool('run-tests.mjs', '--no-such-option-anywhere');
    expect(lastLine(stdout)).toBe('0 passed, 1 failed');
    expect(status).toBe(1);
  });
});

describe('run-checks', () => {
  test('runs the named checks and ends with the total, green or red', () => {
    const { status, stdout } = tool('run-checks.mjs', 'sizes', 'links');
    const verdicts = [...stdout.matchAll(/^(ok {2}|FAIL) (\S+)/gm)].map((match) => [
      match[2],
      match[1] !== 'FAIL',
    ]);
    expect(verdicts.map(([name]) => name)).toEqual(['sizes', 'links']);
    const passed = verdicts.filter(([, ok]) => ok).length;
    expect(lastLine(stdout)).toBe(`${passed} passed, ${2 - passed} failed`);
    expect(status).toBe(passed === 2 ? 0 : 1);
  });

  test('refuses a check that does not exist', () => {
    const { status, stderr } = tool('run-checks.mjs', 'everything');
    expect(status).toBe(2);
    expect(stderr).toMatch(/there are types, .*packages/);
  });
});

describe('.ci/run', () => {
  let root = '';

  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'holdfast ci-'));
    mkdirSync(path.join(root, '.ci'));
    mkdirSync(path.join(root, 'tools'));
    mkdirSync(path.join(root, 'bin'));
    cpSync(path.join(repositoryRoot, '.ci', 'run'), path.join(root, '.ci', 'run'));
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  /** Runs it with a fake npm and node, whose last words and exit codes are given by step. */
  function ciRun(steps: Readonly<Record<string, readonly [text: string, code: number]>>): {
    status: number | null;
    stdout: string;
  } {
    const cases = Object.entries(steps).map(
      ([name, [text, code]]) => `*"${name}"*) printf '%b' '${text}'; exit ${code} ;;`,
    );
    const script = `#!/bin/sh\ncase "$*" in\n${cases.join('\n')}\nesac\n`;
    for (const name of ['npm', 'node']) {
      writeFileSync(path.join(root, 'bin', name), script);
      chmodSync(path.join(root, 'bin', name), 0o755);
    }
    const env = { ...plainEnvironment(), PATH: `${path.join(root, 'bin')}:/usr/bin:/bin` };
    return spawnSync('bash', [path.join(root, '.ci', 'run')], { encoding: 'utf8', env });
  }

  const good = {
    'run --silent setup': ['setup: up to date\\n', 0],
    'run --silent check': ['12 passed, 0 failed\\n', 0],
    'test --silent': ['first 1 passed, 1 failed in a sentence\\n300 passed, 0 failed\\n', 0],
    'run --silent campaign': ['8 passed, 0 failed\\n', 0],
    'services/install': ['every server is installed\\n', 0],
    'run --silent test:services': ['7 passed, 0 failed\\n', 0],
    'verify-release': ['40 passed, 0 failed\\n', 0],
  } as const;

  test('adds the totals of its steps; steps without one count as one', () => {
    const { status, stdout } = ciRun(good);
    expect(lastLine(stdout)).toBe('369 passed, 0 failed');
    expect(stdout).toMatch(/left out: the demo/);
    expect(status).toBe(0);
  });

  test('runs the demo when there is one', () => {
    mkdirSync(path.join(root, 'tools', 'demo'));
    writeFileSync(path.join(root, 'tools', 'demo', 'demo.mjs'), '');
    const { stdout } = ciRun({ ...good, 'run --silent demo': ['equal\\n', 0] });
    expect(lastLine(stdout)).toBe('370 passed, 0 failed');
  });

  test('goes on after a failure and is red at the end', () => {
    const { status, stdout } = ciRun({ ...good, 'run --silent check': ['11 passed, 1 failed\\n', 1] });
    expect(lastLine(stdout)).toBe('368 passed, 1 failed');
    expect(status).toBe(1);
  });

  test('does not believe a clean total of a step that ended badly', () => {
    const { status, stdout } = ciRun({ ...good, 'test --silent': ['300 passed, 0 failed\\n', 137] });
    expect(lastLine(stdout)).toBe('369 passed, 1 failed');
    expect(status).toBe(1);
  });

  test('is red when a server is missing, and runs the rest', () => {
    const { status, stdout } = ciRun({ ...good, 'services/install': ['s3: radosgw is missing\\n', 1] });
    expect(lastLine(stdout)).toBe('361 passed, 1 failed');
    expect(stdout).not.toMatch(/=== services:/);
    expect(status).toBe(1);
  });

  test('stops when setup fails', () => {
    const { status, stdout } = ciRun({ ...good, 'run --silent setup': ['no network\\n', 1] });
    expect(lastLine(stdout)).toBe('0 passed, 1 failed');
    expect(stdout).not.toMatch(/=== test/);
    expect(status).toBe(1);
  });
});

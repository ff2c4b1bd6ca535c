/** Proves that the configuration of the linters finds what it is there for: each case plants one violation. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { repositoryRoot } from './shared/workspace.mjs';

let root = '';

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), text);
}

function binary(name: string, ...args: string[]): { status: number | null; output: string } {
  const result = spawnSync(path.join(repositoryRoot, 'node_modules', '.bin', name), args, {
    cwd: root,
    encoding: 'utf8',
  });
  return { status: result.status, output: result.stdout + result.stderr };
}

const planted: Readonly<Record<string, readonly [rule: string, text: string]>> = {
  floating: ['no-floating-promises', 'export async function f(): Promise<void> {}\nf();'],
  voided: ['no-floating-promises', 'export async function f(): Promise<void> {}\nvoid f();'],
  misused: [
    'no-misused-promises',
    'export const g = (list: string[]): void => list.forEach(async () => undefined);',
  ],
  now: ['no-restricted-properties', 'export const now = (): number => Date.now();'],
  random: ['no-restricted-properties', 'export const r = (): number => Math.random();'],
  uuid: ['no-restricted-properties', 'export const id = (): string => crypto.randomUUID();'],
  timeout: ['no-restricted-globals', 'export const wait = (): unknown => setTimeout(() => undefined, 1);'],
  timers: [
    'no-restricted-imports',
    "import { setTimeout } from 'node:timers/promises';\nexport { setTimeout };",
  ],
  bytes: ['no-restricted-imports', "import { randomBytes } from 'node:crypto';\nexport { randomBytes };"],
  console: ['no-console', "console.log('x');\nexport {};"],
  fallback: ['no-default-export', 'export default 1;'],
  caught: [
    'preserve-caught-error',
    "export function f(): void {\n  try {\n    JSON.parse('');\n  } catch (error) {\n    throw new Error('x');\n  }\n}",
  ],
  exhaustive: [
    'switch-exhaustiveness-check',
    "export function f(kind: 'a' | 'b'): number {\n  switch (kind) {\n    case 'a':\n      return 1;\n  }\n  return 0;\n}",
  ],
  any: ['no-explicit-any', 'export const f = (value: any): unknown => value;'],
  ignored: ['ban-ts-comment', "// @ts-ignore\nexport const f: number = 'x';"],
};

describe('oxlint', () => {
  let output = '';
  beforeAll(() => {
    root = mkdtempSync(path.join(tmpdir(), 'holdfast-lint-'));
    cpSync(path.join(repositoryRoot, '.oxlintrc.json'), path.join(root, '.oxlintrc.json'));
    const compilerOptions = {
      strict: true,
      module: 'NodeNext',
      target: 'ES2023',
      lib: ['ES2023', 'DOM'],
      types: [],
    };
    write('packages/one/tsconfig.json', JSON.stringify({ compilerOptions, include: ['src'] }));
    for (const [name, [, text]] of Object.entries(planted)) write(`packages/one/src/${name}.ts`, `${text}\n`);
    write('packages/one/src/clean.ts', 'export const fine = (): number => 1;\n');
    write('packages/base/src/clock.ts', 'export const now = (): number => Date.now();\n');
    output = binary('oxlint', '--type-aware', '--format=unix').output;
  });
  afterAll(() => {
    rmSync(root, { recursive: true });
  });

  test.each(Object.entries(planted))('finds %s', (name, [rule]) => {
    const lines = output.split('\n').filter((line) => line.includes(`/${name}.ts:`));
    expect(lines.join('\n')).toContain(rule);
  });

  test('finds nothing in clean code and lets the clock read the time', () => {
    expect(output).not.toContain('clean.ts');
    expect(output).not.toContain('clock.ts');
  });
});

describe('dependency-cruiser', () => {
  beforeAll(() => {
    root = mkdtempSync(path.join(tmpdir(), 'holdfast-direction-'));
    const files = [
      '.dependency-cruiser.cjs',
      'tsconfig.tests.json',
      'tsconfig.base.json',
      'vitest.shared.ts',
    ];
    for (const file of files) {
      cpSync(path.join(repositoryRoot, file), path.join(root, file));
    }
    const layers = 'tools/check-boundaries/layers.json';
    mkdirSync(path.join(root, path.dirname(layers)), { recursive: true });
    cpSync(path.join(repositoryRoot, layers), path.join(root, layers));
    write('packages/base/src/index.ts', 'export const base = 1;\n');
    write('packages/base/src/internal/a.ts', 'export const secret = 1;\n');
    write('packages/base/src/testing/index.ts', 'export const fake = 1;\n');
    write('packages/rig/src/index.ts', 'export const rig = 1;\n');
    write('packages/level/src/index.ts', 'export const level = 1;\n');
  });
  afterAll(() => {
    rmSync(root, { recursive: true });
  });

  const violations: readonly (readonly [rule: string, file: string, text: string])[] = [
    [
      'direction-level',
      'packages/level/src/up.ts',
      "import { rig } from '../../rig/src/index.js';\nexport { rig };",
    ],
    [
      'direction-rig',
      'packages/rig/src/adapter.ts',
      "import { level } from '../../level/src/index.js';\nexport { level };",
    ],
    [
      'direction-base',
      'packages/base/src/up.ts',
      "import type { rig } from '../../rig/src/index.js';\nexport type R = typeof rig;",
    ],
    [
      'no-internal-of-others',
      'packages/rig/src/i.ts',
      "export { secret } from '../../base/src/internal/a.js';",
    ],
    [
      'no-testing-in-sources',
      'packages/rig/src/t.ts',
      "export { fake } from '../../base/src/testing/index.js';",
    ],
    ['not-resolvable', 'packages/rig/src/n.ts', "export { x } from './nothing.js';"],
    [
      'no-cycles',
      'packages/rig/src/self.ts',
      "import { other } from './other.js';\nexport const self = () => other;",
    ],
  ];

  test('accepts what keeps the directions', () => {
    write('packages/rig/src/down.ts', "export { base } from '../../base/src/index.js';\n");
    expect(binary('depcruise', '--config', '.dependency-cruiser.cjs', 'packages')).toMatchObject({
      status: 0,
    });
  });

  test.each(violations)('finds %s', (rule, file, text) => {
    write(
      'packages/rig/src/other.ts',
      "import { self } from './self.js';\nexport const other = () => self;\n",
    );
    write('packages/rig/src/self.ts', 'export const self = 1;\n');
    write(file, `${text}\n`);
    const { status, output } = binary('depcruise', '--config', '.dependency-cruiser.cjs', 'packages');
    rmSync(path.join(root, file));
    expect(output).toContain(rule);
    expect(status).not.toBe(0);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { examplesOfMarkdown, examplesOfSource } from './fences.mjs';

const tool = fileURLToPath(new URL('check-readme.mjs', import.meta.url));

describe('examplesOfMarkdown', () => {
  test('takes ts fences with their place, and no others', () => {
    const text = [
      '# Title',
      '```ts',
      'const a = 1;',
      '```',
      '```sh',
      'npm test',
      '```',
      '- item',
      '  ```typescript',
      '  if (a) {',
      '    b();',
      '  }',
      '  ```',
      '```tsx',
      'no',
      '```',
    ].join('\n');
    expect(examplesOfMarkdown('README.md', text)).toEqual([
      { source: 'README.md:3', code: 'const a = 1;\n' },
      { source: 'README.md:10', code: 'if (a) {\n  b();\n}\n' },
    ]);
  });

  test('refuses a fence that is not closed', () => {
    expect(() => examplesOfMarkdown('README.md', 'x\n```ts\nconst a = 1;\n')).toThrow(
      /README\.md:2: .*not closed/,
    );
  });
});

describe('examplesOfSource', () => {
  test('takes fences out of documentation comments and leaves code alone', () => {
    const text = [
      '/**',
      ' * Does it.',
      ' * @example',
      ' * ```ts',
      ' * doIt();',
      ' *',
      ' * again();',
      ' * ```',
      ' */',
      'const markdown = `',
      '```ts',
      '`;',
    ].join('\n');
    expect(examplesOfSource('src/a.ts', text)).toEqual([
      { source: 'src/a.ts:5', code: 'doIt();\n\nagain();\n' },
    ]);
  });
});

describe('the tool', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'holdfast-readme-'));
    const item = path.join(root, 'packages', 'one');
    mkdirSync(path.join(item, 'dist'), { recursive: true });
    mkdirSync(path.join(item, 'src'));
    const exports = { '.': { types: './dist/index.d.ts', default: './dist/index.js' } };
    const manifest = { name: '@holdfast/one', version: '1.0.0', type: 'module', exports };
    writeFileSync(path.join(item, 'package.json'), JSON.stringify(manifest));
    writeFileSync(path.join(item, 'dist', 'index.js'), 'export const one = 1;\n');
    writeFileSync(path.join(item, 'dist', 'index.d.ts'), 'export declare const one: number;\n');
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  function check(code: string, ...args: string[]): { status: number | null; output: string } {
    writeFileSync(path.join(root, 'README.md'), `# One\n\n\`\`\`ts\n${code}\n\`\`\`\n`);
    const result = spawnSync(process.execPath, [tool, '--root', root, ...args], { encoding: 'utf8' });
    return { status: result.status, output: result.stdout + result.stderr };
  }

  test('accepts a program that is right', () => {
    const code =
      "import { one } from '@holdfast/one';\nconst two: number = one + 1;\nif (two !== 2) throw new Error('no');";
    expect(check(code, '--types', '--run')).toEqual({
      status: 0,
      output: 'examples of the documentation: 1\n2 passed, 0 failed\n',
    });
  });

  test('reports a wrong type with file and line', () => {
    const result = check("import { one } from '@holdfast/one';\nconst two: string = one;", '--types');
    expect(result.status).toBe(1);
    expect(result.output).toMatch(/README\.md:4: does not type-check\n {2}line 2: .*not assignable/);
  });

  test('reports a program that fails', () => {
    const result = check("await Promise.resolve();\nthrow new Error('broken example');", '--run');
    expect(result.status).toBe(1);
    expect(result.output).toMatch(/README\.md:4: does not run\n {2}ended with exit code 1/);
    expect(result.output).toMatch(/broken example/);
  });

  test('reports a program that leaves files behind', () => {
    const result = check("import { writeFileSync } from 'node:fs';\nwriteFileSync('left', '');", '--run');
    expect(result.output).toMatch(/left files behind: left/);
    expect(result.status).toBe(1);
  });

  test('is red without any example', () => {
    writeFileSync(path.join(root, 'README.md'), '# Nothing\n');
    expect(spawnSync(process.execPath, [tool, '--root', root, '--run']).status).toBe(1);
  });
});

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { run } from '../shared/process.mjs';
import { importProgram, importTimeProgram, installProject, typeProject } from './project.mjs';
import { cacheDirectory, nodeProgram } from './toolchain.mjs';

let directory = '';
const searchPath = process.env['PATH'];

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-consumer-'));
});
afterEach(() => {
  process.env['PATH'] = searchPath;
  rmSync(directory, { recursive: true });
});

const packed = ['a', 'b', 'c'].map((letter) => ({
  name: `@holdfast/${letter}`,
  version: '1.0.0',
  tarball: `/packed/${letter}.tgz`,
  files: [],
}));

function fakeNpm(body: string): void {
  const bin = path.join(directory, 'bin');
  mkdirSync(bin);
  writeFileSync(path.join(bin, 'npm'), `#!/bin/sh\n${body}\n`);
  chmodSync(path.join(bin, 'npm'), 0o755);
  process.env['PATH'] = `${bin}:${searchPath ?? ''}`;
}

describe('installProject', () => {
  test('installs the wanted packages and takes the others of ours from beside them', async () => {
    fakeNpm('echo "$@" > called');
    const project = path.join(directory, 'project');
    expect(await installProject(project, packed.slice(0, 1), packed, { other: '1.2.3' })).toBeUndefined();
    expect(JSON.parse(readFileSync(path.join(project, 'package.json'), 'utf8'))).toMatchObject({
      type: 'module',
      dependencies: { '@holdfast/a': 'file:/packed/a.tgz', other: '1.2.3' },
      overrides: { '@holdfast/b': 'file:/packed/b.tgz', '@holdfast/c': 'file:/packed/c.tgz' },
    });
    expect(readFileSync(path.join(project, 'called'), 'utf8')).toMatch(/^install /);
  });

  test('gives the output of an installation that failed', async () => {
    fakeNpm('echo "no such version" >&2; exit 1');
    expect(await installProject(path.join(directory, 'project'), packed, packed)).toBe('no such version');
  });
});

describe('programs', () => {
  async function runProgram(text: string, module = ''): Promise<{ code: number; stdout: string }> {
    const place = path.join(directory, 'node_modules', 'one');
    mkdirSync(place, { recursive: true });
    writeFileSync(
      path.join(place, 'package.json'),
      '{ "name": "one", "type": "module", "exports": "./index.js" }',
    );
    writeFileSync(path.join(place, 'index.js'), module);
    writeFileSync(path.join(directory, 'program.mjs'), text);
    return await run(process.execPath, ['program.mjs'], { cwd: directory });
  }

  test('import every entry point and refuse one that is missing or empty', async () => {
    expect(await runProgram(importProgram(['one']), 'export const a = 1;')).toMatchObject({ code: 0 });
    expect(await runProgram(importProgram(['one']), '')).toMatchObject({ code: 1 });
    expect(await runProgram(importProgram(['one', 'one/sub']), 'export const a = 1;')).toMatchObject({
      code: 1,
    });
  });

  test('measure an import', async () => {
    const { stdout } = await runProgram(importTimeProgram('one'), 'export const a = 1;');
    expect(Number(stdout)).toBeGreaterThan(0);
  });
});

describe('typeProject', () => {
  test('touches every entry point in the asked resolution and checks our declarations', () => {
    const { source, config } = typeProject(['@holdfast/a', '@holdfast/a/fs'], 'bundler');
    expect(source).toContain("import * as entry1 from '@holdfast/a/fs';");
    expect(source).toContain('[entry0, entry1]');
    const expected = { moduleResolution: 'bundler', module: 'esnext', skipLibCheck: false, strict: true };
    expect(JSON.parse(config)).toMatchObject({ compilerOptions: expected });
    expect(JSON.parse(typeProject([], 'nodenext').config)).toMatchObject({
      compilerOptions: { module: 'nodenext' },
    });
  });
});

describe('toolchain', () => {
  test('uses the running Node for its own version and keeps others outside of the workspace', async () => {
    expect(await nodeProgram(Number(process.versions.node.split('.')[0]))).toBe(process.execPath);
    expect(path.isAbsolute(cacheDirectory)).toBe(true);
  });
});

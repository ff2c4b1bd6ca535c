import { describe, expect, test } from 'vitest';

import { checkPacked } from './packed-rules.mjs';

const files = [
  'LICENSE',
  'README.md',
  'bin/run.js',
  'dist/index.d.ts',
  'dist/index.d.ts.map',
  'dist/index.js',
  'dist/index.js.map',
  'package.json',
  'src/index.ts',
];
const manifest = {
  name: 'one',
  version: '1.0.0',
  bin: { run: './bin/run.js' },
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './package.json': './package.json',
  },
  dependencies: { '@holdfast/base': '^1.0.0' },
};

describe('checkPacked', () => {
  test('accepts what belongs into a package', () => {
    expect(checkPacked('one', files, manifest)).toEqual([]);
  });

  test.each([
    'dist/.tsbuildinfo',
    'test/a.test.ts',
    'src/a.test.ts',
    '.env',
    'tsconfig.json',
    'src/notes.md',
  ])('refuses %s', (file) => {
    expect(checkPacked('one', [...files, file], manifest)).toContainEqual(
      expect.stringMatching(/does not belong/),
    );
  });

  test.each(['LICENSE', 'README.md', 'package.json'])('wants %s', (file) => {
    const left = files.filter((entry) => entry !== file);
    expect(checkPacked('one', left, manifest)).toContainEqual(expect.stringMatching(`${file} is missing`));
  });

  test('finds built files whose source is gone', () => {
    expect(checkPacked('one', [...files, 'dist/old.js', 'dist/old.d.ts.map'], manifest)).toEqual([
      expect.stringMatching(/dist\/old\.js has no source/),
      expect.stringMatching(/dist\/old\.d\.ts\.map has no source/),
    ]);
  });

  test('finds targets that are not packed', () => {
    const exports = { ...manifest.exports, './fs': { types: './dist/fs.d.ts', default: './dist/index.js' } };
    expect(checkPacked('one', files, { ...manifest, exports })).toEqual([
      expect.stringMatching(/\.\/dist\/fs\.d\.ts is named and not packed/),
    ]);
  });

  test('finds what only a workspace understands', () => {
    const workspace = { ...manifest, dependencies: { '@holdfast/base': 'workspace:^' } };
    expect(checkPacked('one', files, workspace)).toEqual([expect.stringMatching(/workspace range/)]);
    const exports = { '.': { '@holdfast/source': './src/index.ts', default: './dist/index.js' } };
    expect(checkPacked('one', files, { ...manifest, exports })).toEqual([
      expect.stringMatching(/source condition/),
    ]);
  });

  test('refuses scripts that run when somebody installs', () => {
    expect(checkPacked('one', files, { ...manifest, scripts: { postinstall: 'node x.js' } })).toEqual([
      expect.stringMatching(/postinstall/),
    ]);
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { repositoryRoot } from '../shared/workspace.mjs';
import { checkManifest, workspaceDirectory } from './manifest-rules.mjs';
import { checkSource } from './source-rules.mjs';

function problemsOf(
  text: string,
  packageDirectory = 'blobs',
  file = `packages/${packageDirectory}/src/x.ts`,
): string[] {
  return checkSource(packageDirectory, file, text).problems;
}

describe('writes to a disk', () => {
  const refused: readonly string[] = [
    "import { rename } from 'node:fs';",
    "import { rename as move } from 'node:fs/promises';",
    "import { openSync } from 'node:fs';",
    "import { createWriteStream } from 'fs';",
    "import fs from 'node:fs';\nfs.unlinkSync('a');",
    "import * as fs from 'node:fs';\nfs.promises.rm('a');",
    "import * as fs from 'node:fs';\nfs['mkdirSync']('a');",
    "import * as fs from 'node:fs';\nconst name = 'rm';\nfs[name]('a');",
    "import { promises } from 'node:fs';\npromises.writeFile('a', '');",
    "import { default as disk } from 'node:fs/promises';\ndisk.symlink('a', 'b');",
    "const fs = await import('node:fs');",
    "const fs = process.getBuiltinModule('node:fs');",
    "const fs = require('node:fs');",
    "export { rm } from 'node:fs';",
    "import { somethingNew } from 'node:fs';",
  ];

  test.each(refused)('are refused outside durable: %s', (text) => {
    expect(problemsOf(text)).not.toEqual([]);
  });

  test.each(refused.filter((text) => !text.startsWith('export') && !text.includes("'fs'")))(
    'are for durable alone: %s',
    (text) => {
      expect(problemsOf(text, 'durable')).toEqual([]);
    },
  );

  test.each([
    "import { lstatSync, realpathSync } from 'node:fs';",
    "import type { Stats, WriteStream } from 'node:fs';",
    "import { type WriteStream, constants } from 'node:fs';",
    "import * as fs from 'node:fs';\nfs.readFileSync('a'); fs.promises.readdir('b');",
    'const fs = { rename() {} };\nfs.rename();',
  ])('leave reading alone: %s', (text) => {
    expect(problemsOf(text)).toEqual([]);
  });

  test('are reported with file and line', () => {
    expect(problemsOf("import a from 'node:path';\nimport { rm } from 'node:fs';\n")[0]).toMatch(
      /^packages\/blobs\/src\/x\.ts:2: node:fs "rm"/,
    );
  });
});

describe('other rules of sources', () => {
  test.each([
    ["import fs from 'path';", /with its prefix/],
    ["export * from './a.js';", /name every export/],
    ['const now = new Date();', /take a Clock/],
    ['const now = Date();', /take a Clock/],
    ['const home = process.env.HOME;', /no environment variables/],
    ["const home = process['env'];", /no environment variables/],
  ])('refuse %s', (text, message) => {
    expect(problemsOf(text)).toEqual([expect.stringMatching(message)]);
  });

  test.each(['const then = new Date(0);', "import path from 'node:path';", "export { a } from './a.js';"])(
    'accept %s',
    (text) => {
      expect(problemsOf(text)).toEqual([]);
    },
  );

  test('let the command read the environment and the clock read the time', () => {
    expect(problemsOf('process.env.HOME;', 'cli')).toEqual([]);
    expect(problemsOf('new Date();', 'base', 'packages/base/src/clock.ts')).toEqual([]);
  });

  test('keep entry points to re-exports', () => {
    const text = "export { a } from './a.js';\nexport const b = 1;\n";
    const file = 'packages/blobs/src/index.ts';
    expect(checkSource('blobs', file, text, { isEntry: true }).problems).toEqual([
      expect.stringMatching(/index\.ts:2: an entry point holds re-exports/),
    ]);
    expect(checkSource('blobs', file, text).problems).toEqual([]);
  });

  test('collect the packages that are imported, in every form', () => {
    const text = `import a from 'one';
import type { B } from '@scope/two/sub';
export { c } from 'three/deep/er';
const d = await import('four');
type E = import('five').E;
import './relative.js';
import '#internal';
import 'node:path';`;
    expect([...checkSource('blobs', 'packages/blobs/src/x.ts', text).imports].sort()).toEqual([
      '@scope/two',
      'five',
      'four',
      'one',
      'three',
    ]);
  });
});

describe('manifests', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'holdfast-manifest-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  const layers = {
    base: [],
    durable: ['base'],
    blobs: ['base', 'durable'],
    rig: ['base', 'blobs'],
    level: ['base'],
  };
  const good = {
    name: '@holdfast/blobs',
    version: '1.0.0',
    exports: {
      '.': { '@holdfast/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' },
      './package.json': './package.json',
    },
    files: ['dist', '!dist/.tsbuildinfo', 'src'],
    dependencies: { '@holdfast/base': 'workspace:^', 'tar-stream': '3.2.2' },
    publishConfig: {
      exports: {
        '.': { types: './dist/index.d.ts', default: './dist/index.js' },
        './package.json': './package.json',
      },
    },
  };
  const imports = new Set(['@holdfast/base', 'tar-stream']);

  function check(
    manifest: typeof good,
    references = ['../base'],
    found: ReadonlySet<string> = imports,
  ): string[] {
    mkdirSync(directory, { recursive: true });
    const config = { references: references.map((reference) => ({ path: reference })) };
    writeFileSync(path.join(directory, 'tsconfig.json'), JSON.stringify(config));
    return checkManifest({ directory: 'blobs', path: directory, manifest }, layers, found);
  }

  test('in order have no problems', () => {
    expect(check(good)).toEqual([]);
  });

  test('may name an optional peer that only users import, and no other one', () => {
    const withPeer = (optional: boolean): typeof good => {
      const { publishConfig, ...rest } = good;
      const peers = { peerDependencies: { pg: '^8.11.0' }, peerDependenciesMeta: { pg: { optional } } };
      return { ...rest, ...peers, publishConfig };
    };
    expect(check(withPeer(true))).toEqual([]);
    expect(check(withPeer(false)).join('\n')).toMatch(/pg is declared and never imported/);
  });

  const dependencies = good.dependencies;
  const cases: readonly (readonly [string, () => string[], RegExp])[] = [
    [
      'an import that is not declared',
      () => check(good, ['../base'], new Set([...imports, 'other'])),
      /imports other/,
    ],
    [
      'a dependency that is not imported',
      () => check(good, ['../base'], new Set(['@holdfast/base'])),
      /never imported/,
    ],
    [
      'a wrong direction',
      () => {
        const found = new Set([...imports, '@holdfast/rig']);
        const more = { ...dependencies, '@holdfast/rig': 'workspace:^' };
        return check({ ...good, dependencies: more }, ['../base', '../rig'], found);
      },
      /must not depend on rig/,
    ],
    [
      'a range',
      () => check({ ...good, dependencies: { ...dependencies, 'tar-stream': '^3.2.2' } }),
      /exact version/,
    ],
    [
      'a sibling by version',
      () => check({ ...good, dependencies: { ...dependencies, '@holdfast/base': '1.0.0' } }),
      /workspace:\^/,
    ],
    [
      'references that differ',
      () => check(good, ['../base', '../durable']),
      /tsconfig\.json refers to base, durable/,
    ],
    [
      'published exports that differ',
      () => check({ ...good, publishConfig: { exports: good.exports } } as never),
      /publishConfig\.exports/,
    ],
    ['build state in the package', () => check({ ...good, files: ['dist', 'src'] }), /tsbuildinfo/],
    [
      'fields out of order',
      () => check(Object.fromEntries(Object.entries(good).reverse()) as never),
      /order of fields/,
    ],
    ['unknown fields', () => check({ ...good, main: 'x' } as never), /do not belong here: main/],
  ];
  test.each(cases)('with %s are refused', (_name, problems, message) => {
    expect(problems()).toEqual([expect.stringMatching(message)]);
  });

  test('need a place in the layers', () => {
    expect(checkManifest({ directory: 'new', path: directory, manifest: good }, layers, imports)).toEqual([
      expect.stringMatching(/layers\.json/),
    ]);
  });

  test('name siblings by scope or as the umbrella', () => {
    expect(['holdfast', '@holdfast/base', 'level', '@noble/hashes'].map(workspaceDirectory)).toEqual([
      'holdfast',
      'base',
      undefined,
      undefined,
    ]);
    expect(path.isAbsolute(repositoryRoot)).toBe(true);
  });
});

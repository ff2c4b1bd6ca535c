import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { run } from '../shared/process.mjs';
import { onePackageProblem, onePackagePrograms } from './one-package.mjs';

const item = (name: string, dependencies: readonly string[] = []) => ({
  name,
  tarball: `/packed/${name}.tgz`,
  manifest: JSON.stringify({ dependencies: Object.fromEntries(dependencies.map((other) => [other, '1'])) }),
});
const all = [item('@x/a', ['@x/b', 'theirs']), item('@x/b', ['@x/c']), item('@x/c'), item('@x/d')];
const problem = (source: string): string | undefined =>
  onePackageProblem(source, all[0] as (typeof all)[0], all);

describe('a program that needs one package', () => {
  it('may import the package, what comes with it, and Node', () => {
    const imports = [
      "import fs from 'node:fs';",
      "import { a } from '@x/a/fs';",
      "import { c } from '@x/c';",
    ];
    expect(problem(`${imports.join('\n')}\n`)).toBeUndefined();
  });

  it.each([
    ['is too long', `import { a } from '@x/a';\n${'//\n'.repeat(40)}`, /41 lines/],
    ['imports a sibling', "import { a } from '@x/a';\nimport { d } from '@x/d';", /@x\/d/],
    ['imports a sibling later', "import { a } from '@x/a';\nawait import('@x/d/fs');", /@x\/d/],
    ['imports what its package keeps to itself', "import { a } from '@x/a';\nimport 'theirs';", /theirs/],
    ['does without it', "import { c } from '@x/c';", /does not import/],
  ])('is refused when it %s', (_what, source, message) => {
    expect(problem(source)).toMatch(message);
  });

  it.each([...onePackagePrograms])('of ours runs over the built packages: %s', async (name, file) => {
    const result = await run(process.execPath, [file]);
    expect(result.code, result.output).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain(`'${name}`);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { listPackages, repositoryRoot } from '../shared/workspace.mjs';
import { makeAdapter } from './new-adapter.mjs';

let home = '';
beforeAll(() => {
  home = mkdtempSync(path.join(tmpdir(), 'holdfast-adapter-'));
  const modules = path.join(home, 'node_modules');
  mkdirSync(path.join(modules, '@holdfast'), { recursive: true });
  // As if they had been installed.
  for (const item of listPackages()) symlinkSync(item.path, path.join(modules, item.manifest.name));
});
afterAll(() => {
  rmSync(home, { recursive: true });
});

function runSuite(directory: string): {
  code: number | null;
  output: string;
  passed: number;
  failed: number;
} {
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--test', '--test-reporter=tap', 'test/contract.test.mjs'],
    {
      cwd: directory,
      encoding: 'utf8',
      timeout: 110_000,
      env: { ...process.env, NODE_OPTIONS: '' },
    },
  );
  const count = (what: string): number =>
    Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1] ?? -1);
  return { code: status, output: stdout, passed: count('pass'), failed: count('fail') };
}

const kinds = {
  blobs: {
    page: 'docs/contracts/blobs.md, clause 2.1',
    toDo: ['to do in src/driver.mjs: put: create only', 'to do in src/driver.mjs: list: '],
    driver: `import { MemoryBlobsDriver } from '@holdfast/blobs';
export class HeapBlobsDriver extends MemoryBlobsDriver {
  constructor(storage) {
    super({ storage });
  }
}`,
    storage: 'new MemoryBlobStorage()',
    imports: "import { MemoryBlobStorage } from '@holdfast/blobs';",
  },
  ledger: {
    page: 'docs/contracts/ledger.md, clause 2.1',
    toDo: ['to do in src/driver.mjs: append: all records or none', 'to do in src/driver.mjs: tip: '],
    driver: `import { MemoryLedgerDriver } from '@holdfast/journal';
export class HeapLedgerDriver extends MemoryLedgerDriver {
  constructor(storage) {
    super({ storage });
  }
}`,
    storage: 'new MemoryLedgerStorage()',
    imports: "import { MemoryLedgerStorage } from '@holdfast/journal';",
  },
  lease: {
    page: 'docs/contracts/lease.md, clause 2.1',
    toDo: ['to do in src/driver.mjs: take: in one atomic step'],
    driver: `import { MemoryLeaserDriver } from '@holdfast/lease';
export class HeapLeaserDriver extends MemoryLeaserDriver {}`,
    storage: 'new MemoryLeases()',
    imports: "import { MemoryLeases } from '@holdfast/lease';",
  },
} as const;

describe.each(Object.keys(kinds) as (keyof typeof kinds)[])('%s', (kind) => {
  const facts = kinds[kind];
  let directory = '';
  beforeAll(() => {
    directory = path.join(home, kind);
    makeAdapter({ kind, name: '@you/holdfast-heap', directory });
  });

  test('the package is complete, and nothing of the templates is left in it', () => {
    const manifest = JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8')) as {
      name: string;
      dependencies: Record<string, string>;
    };
    expect(manifest.name).toBe('@you/holdfast-heap');
    for (const [name, range] of Object.entries(manifest.dependencies)) {
      const item = listPackages().find((one) => one.manifest.name === name);
      expect(range).toBe(`^${item?.manifest.version}`);
    }
    for (const file of [
      'package.json',
      'README.md',
      'src/index.mjs',
      'src/driver.mjs',
      'src/harness.mjs',
      'test/contract.test.mjs',
    ]) {
      expect(readFileSync(path.join(directory, file), 'utf8')).not.toMatch(/__[A-Z]+__/);
    }
    const page = /docs\/[a-z/-]+\.md/.exec(
      readFileSync(path.join(directory, 'README.md'), 'utf8').split('guide is')[1] ?? '',
    )?.[0];
    expect(readFileSync(path.join(repositoryRoot, page ?? ''), 'utf8')).toContain('Writing a backend');
  });

  test('the suite runs at once, and its failures say what to do where', () => {
    const { code, output, failed, passed } = runSuite(directory);
    expect(code).not.toBe(0);
    expect(failed).toBeGreaterThan(passed);
    // What the portable class sees to is green from the beginning.
    expect(passed).toBeGreaterThan(2);
    expect(output).toContain(facts.page);
    for (const text of facts.toDo) expect(output).toContain(text);
  });

  test('with a driver that keeps the contract it is green, three times over', () => {
    writeFileSync(path.join(directory, 'src/driver.mjs'), facts.driver);
    const harness = path.join(directory, 'src/harness.mjs');
    const text = readFileSync(harness, 'utf8').replace('open({})', `open(${facts.storage})`);
    writeFileSync(harness, `${facts.imports}\n${text}`);
    const { code, output, failed, passed } = runSuite(directory);
    expect(
      [code, failed],
      output
        .split('\n')
        .filter((line) => line.includes('not ok'))
        .join('\n'),
    ).toEqual([0, 0]);
    expect(passed % 3).toBe(0);
  });
});

test('an existing directory and an impossible name are refused', () => {
  mkdirSync(path.join(home, 'full/inside'), { recursive: true });
  expect(() => makeAdapter({ kind: 'blobs', name: 'x', directory: path.join(home, 'full') })).toThrow(
    /not empty/,
  );
  expect(() => makeAdapter({ kind: 'blobs', name: 'No Name', directory: path.join(home, 'empty') })).toThrow(
    /no name/,
  );
});

test('without arguments it says how to use it', () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [path.join(repositoryRoot, 'tools/new-adapter/new-adapter.mjs'), 'shoes'],
    { encoding: 'utf8' },
  );
  expect([status, stderr]).toEqual([2, 'usage: new-adapter.mjs blobs|ledger|lease NAME DIRECTORY\n']);
});

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { collectErrorClasses } from './collect.mjs';
import { originOf } from './record.mjs';
import { renderErrors } from './render.mjs';
import {
  codePrefix,
  readNotes,
  verifyClasses,
  verifyExports,
  verifyOutcomes,
  verifyThrown,
} from './verify.mjs';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-errors-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

const source = `import { HoldfastError } from '@holdfast/base';

export type LossKind = 'released' | 'expired';

/** A family without a code. */
export abstract class LeaseError extends HoldfastError {}

/**
 * The lease is gone.
 * Acquire it again.
 */
export class LeaseLostError extends LeaseError {
  static override readonly code = 'LEASE_LOST';
  declare readonly code: 'LEASE_LOST';
  /** Name of the lease. */
  declare readonly leaseName: string;
  declare readonly kind: LossKind;
  declare readonly owners:
    | readonly string[]
    | undefined;
}

export class Undocumented extends LeaseError {
  static override readonly code = 'JOURNAL_ODD' as const;
}
`;

function collected(): ReturnType<typeof collectErrorClasses> {
  mkdirSync(path.join(directory, 'src'));
  writeFileSync(path.join(directory, 'src', 'errors.ts'), source);
  return collectErrorClasses({
    directory: 'lease',
    path: directory,
    manifest: { name: '@holdfast/lease', version: '1' },
  });
}

describe('collectErrorClasses', () => {
  test('reads code, documentation and fields of the classes that have a code', () => {
    expect(collected()).toEqual([
      {
        package: 'lease',
        file: 'src/errors.ts',
        className: 'LeaseLostError',
        code: 'LEASE_LOST',
        doc: 'The lease is gone. Acquire it again.',
        fields: [
          { name: 'leaseName', type: 'string', doc: 'Name of the lease.' },
          { name: 'kind', type: "'released' | 'expired'", doc: '' },
          { name: 'owners', type: 'readonly string[] | undefined', doc: '' },
        ],
      },
      {
        package: 'lease',
        file: 'src/errors.ts',
        className: 'Undocumented',
        code: 'JOURNAL_ODD',
        doc: '',
        fields: [],
      },
    ]);
  });
});

describe('verifyClasses', () => {
  test('finds wrong prefixes, names and missing documentation', () => {
    const problems = verifyClasses(collected()).join('\n');
    expect(problems).toMatch(/JOURNAL_ODD must start with LEASE_/);
    expect(problems).toMatch(/ends in Error/);
    expect(problems).toMatch(/has no documentation comment/);
    expect(problems).not.toMatch(/LeaseLostError/);
  });

  test('finds a code that two classes have', () => {
    const [first] = collected();
    if (first === undefined) throw new Error('nothing collected');
    expect(verifyClasses([first, { ...first, className: 'SecondError' }])).toEqual([
      expect.stringMatching(/SecondError: code LEASE_LOST is also the code of LeaseLostError/),
    ]);
  });

  test('knows the prefixes that differ from the directory', () => {
    expect(['base', 'workspacestore', 'agent-tools', 'holdfast'].map(codePrefix)).toEqual([
      'BASE_',
      'WORKSPACE_',
      'AGENT_TOOLS_',
      'HOLDFAST_',
    ]);
  });

  test('finds a class that no entry point exports', () => {
    const classes = collected();
    expect(verifyExports(classes, new Map([['lease', new Set(['LEASE_LOST'])]]))).toEqual([
      expect.stringMatching(/Undocumented is not exported/),
    ]);
  });
});

describe('verifyThrown', () => {
  const classes = ['A_ONE', 'A_TWO', 'A_THREE', 'A_FOUR'].map((code) => ({
    package: 'a',
    file: 'src/errors.ts',
    className: `${code}Error`,
    code,
    doc: 'x',
    fields: [],
  }));

  test('wants every class raised by a package, unless others raise it', () => {
    const notes = readNotes(['A_ONE package\nA_TWO test\n', 'A_ONE test\nA_THREE other\n']);
    const problems = verifyThrown(classes, notes, new Map([['A_THREE', 'drivers of others raise it']]));
    expect(problems).toEqual([
      expect.stringMatching(/^A_TWO: .*only constructed by tests/),
      expect.stringMatching(/^A_FOUR: .*not raised in any test/),
    ]);
  });

  test('wants the list of exceptions to be true', () => {
    const notes = readNotes(['A_ONE package\nA_TWO package\nA_THREE package\nA_FOUR package']);
    expect(verifyThrown(classes, notes, new Map([['A_ONE', 'because']]))).toEqual([
      expect.stringMatching(/remove the entry/),
    ]);
    expect(verifyThrown(classes, notes, new Map([['A_NONE', 'because']]))).toEqual([
      expect.stringMatching(/no class has it/),
    ]);
  });
});

describe('verifyOutcomes', () => {
  test('wants codes and kinds that exist', () => {
    const classes = collected();
    const outcome = (code: string, kind?: string) => [
      { outcome: 'X', meaning: 'x', reported: [kind === undefined ? { code } : { code, kind }] },
    ];
    expect(verifyOutcomes(classes, [...outcome('LEASE_LOST'), ...outcome('LEASE_LOST', 'expired')])).toEqual(
      [],
    );
    expect(verifyOutcomes(classes, outcome('LEASE_NONE'))).toEqual([
      expect.stringMatching(/no class has the code/),
    ]);
    expect(verifyOutcomes(classes, outcome('LEASE_LOST', 'stolen'))).toEqual([
      expect.stringMatching(/no kind stolen/),
    ]);
  });
});

describe('the recorder', () => {
  test('tells constructions of the package from those of a test', () => {
    const stack = (frames: string[]): string =>
      ['Error: where', ...frames.map((frame) => `    at ${frame}`)].join('\n');
    const constructor = 'new LostError (/r/packages/lease/src/errors.ts:1:1)';
    expect(originOf(stack([constructor, 'Leaser.acquire (/r/packages/lease/src/leaser.ts:2:2)']))).toBe(
      'package',
    );
    expect(originOf(stack([constructor, 'file:///r/packages/lease/test/errors.test.ts:3:3']))).toBe('test');
    expect(
      originOf(stack([constructor, 'f (node:internal/x:1:1)', 'g (/r/packages/cli/dist/a.js:1:1)'])),
    ).toBe('package');
    expect(originOf(stack([constructor, 'f (/somewhere/else.js:1:1)']))).toBe('other');
    expect(originOf('')).toBe('other');
  });

  test('notes codes in a child process that uses the built packages', () => {
    const recorder = pathToFileURL(fileURLToPath(new URL('record.mjs', import.meta.url))).href;
    const base = new URL('../../packages/base/dist/index.js', import.meta.url).href;
    const program = `import { InvalidNameError, parseName } from '${base}';
try { parseName('A'); } catch {}
try { parseName('A'); } catch {}
new InvalidNameError('', 'empty');`;
    const file = path.join(directory, 'program.mjs');
    writeFileSync(file, program);
    const notes = path.join(directory, 'notes');
    mkdirSync(notes);
    execFileSync(process.execPath, [file], {
      env: { ...process.env, NODE_OPTIONS: `--import=${recorder}`, HOLDFAST_ERROR_NOTES: notes },
    });
    const [name] = readdirSync(notes);
    expect(readFileSync(path.join(notes, name ?? ''), 'utf8')).toBe('BASE_INVALID_NAME package\n');
  });
});

describe('renderErrors', () => {
  test('writes one table per package and the table of outcomes', () => {
    const page = renderErrors([{ name: '@holdfast/lease', directory: 'lease' }], collected(), [
      { outcome: 'LOST', meaning: 'a | b', reported: [{ code: 'LEASE_LOST', kind: 'expired' }] },
    ]);
    expect(page).toContain('## @holdfast/lease');
    expect(page).toContain(
      '| `LEASE_LOST` | `LeaseLostError` | The lease is gone. Acquire it again. | `leaseName` (string): Name of the lease.<br>',
    );
    expect(page).toContain('`kind` (released \\| expired)');
    expect(page).toContain('| LOST | a \\| b | `LEASE_LOST`, `expired` |');
    expect(page.endsWith('\n')).toBe(true);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { runCommand } from '@holdfast/cli';
import { ScratchUnavailableError, WorkspaceRestoreError } from '@holdfast/restore';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

import { fakeIo } from './fake-io.js';

const packages = fileURLToPath(new URL('../..', import.meta.url));
/** Packages whose errors people meet through the command. */
const below = [
  'lease',
  'journal',
  'level',
  'coordinator',
  'workspacestore',
  'restore',
  'session',
  'rig',
  'holdfast',
];
/** Names of options of the packages that the command has under another name, or not at all. */
const optionName =
  /\b(onConflict|onUnreadable|fileBytes|safety: (?:true|false)|scratch: '|prune: '|relocate: true|adopt: true|drift ")/;

function* sources(directory: string): Generator<string> {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const name = path.join(directory, entry.name);
    if (entry.isDirectory() && entry.name !== 'testing') yield* sources(name);
    else if (entry.name.endsWith('.ts')) yield name;
  }
}

/** Texts of a source that people may read; mistakes of programmers (`TypeError`) are not theirs. */
function messagesOf(file: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node) && /^(Type|Range)Error$/.test(node.expression.getText())) return;
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) found.push(node.text);
    if (ts.isTemplateExpression(node)) {
      found.push([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…'));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true));
  return found.filter((text) => text.includes(' '));
}

/** What a command prints when it fails with this error. */
async function printed(error: Error, ...words: readonly string[]): Promise<string> {
  const io = fakeIo();
  const openLocal = async (): Promise<never> => await Promise.reject(error);
  expect(await runCommand(['gc', ...words], { io, openLocal, version: '0.0.0' })).toBe(1);
  return io.err();
}

describe('messages of the packages, in the words of the command', () => {
  it('are translated wherever they name an option', async () => {
    const files = below.flatMap((name) => [...sources(path.join(packages, name, 'src'))]);
    const found = files.flatMap(messagesOf).filter((text) => optionName.test(text));
    expect(found.length).toBeGreaterThan(4);
    for (const message of found) expect(await printed(new Error(message))).not.toMatch(optionName);
  });

  it('are what people see, of the error and of its causes', async () => {
    const cause = new WorkspaceRestoreError(
      'safety-failed',
      'remove the cause, or pass safety: false to give up the undo',
    );
    const text = await printed(new ScratchUnavailableError('/root/of/it', 'mount-point', { cause }));
    expect(text).toContain('; pass --scratch inside [RESTORE_SCRATCH_UNAVAILABLE]\n');
    expect(text).toMatch(/\n {2}because .*pass --no-safety/);
  });

  it('do not repeat a cause that the message ends with', async () => {
    const root = new Error('EACCES: permission denied');
    const middle = new Error('open "a" failed with EACCES', { cause: root });
    const text = await printed(
      new Error('"a" may not be read: open "a" failed with EACCES', { cause: middle }),
    );
    expect(text.match(/open "a" failed/g)).toHaveLength(1);
    expect(text).toMatch(/\n {2}because EACCES: permission denied\n$/);
  });

  it('stay as they are in JSON, which programs read', async () => {
    const error = new ScratchUnavailableError('/root/of/it', 'mount-point');
    expect(JSON.parse(await printed(error, '--json'))).toMatchObject({ error: { message: error.message } });
  });
});

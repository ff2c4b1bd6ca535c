import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import type { TextHunk, TreeChange, TreeDiff } from '@holdfast/workspacestore';

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRef } from '../ref-argument.js';
import { resolveRoot } from '../root-argument.js';
import { pathText, printable } from '../text.js';
import { captureOptionSpecs, captureOptions, storeCapture } from './capture-options.js';

export const diffCommand: Command = {
  spec: {
    name: 'diff',
    summary:
      'show what differs between two snapshots, or between a snapshot and a directory (A added, D removed, M modified, ' +
      'C mode changed, T kind changed, R renamed, ? not covered)',
    arguments: [
      { name: 'REF', help: 'the first side' },
      { name: 'REF-or-DIR', help: 'the second side: another snapshot, or a live directory' },
    ],
    options: [{ name: 'text', help: 'show changed lines of text files' }, ...captureOptionSpecs],
    example: 'holdfast diff 3f9a0c1d ./project --text',
  },
  run: async (context) => {
    const [first, second] = context.arguments.positionals as [string, string];
    const capture = captureOptions(context);
    const { signal } = context.io;
    const text = context.arguments.flag('text');
    const stack = await context.stack();
    const before = await resolveRef(stack, first);
    const isPath =
      /[./\\]/.test(second.replace(/^v1:sha256:/, '')) || existsSync(resolve(context.io.cwd, second));
    let diff: TreeDiff;
    if (isPath) {
      const root = await resolveRoot(second, context.io.cwd, context.home);
      diff = await stack.store.diffLive(root, before, { ...storeCapture(capture), text, signal });
    } else {
      diff = await stack.store.diff(before, await resolveRef(stack, second), { text, signal });
    }
    await context.result(diff, () => diffText(diff));
    return exitStatus.done;
  },
};

const letters: Readonly<Record<TreeChange['change'], string>> = {
  added: 'A',
  removed: 'D',
  modified: 'M',
  mode: 'C',
  type: 'T',
  renamed: 'R',
};

function diffText({ changes, uncovered }: TreeDiff): string {
  const lines = changes.flatMap(({ change, path, from, text }) => {
    const shown = from === undefined ? pathText(path) : `${pathText(from)} -> ${pathText(path)}`;
    const line = `${letters[change]} ${shown}`;
    if (text === undefined) return [line];
    return text.kind === 'lines'
      ? [line, ...text.hunks.flatMap(hunkText)]
      : [`${line} (${notCompared[text.kind]})`];
  });
  for (const { path, reason } of uncovered)
    lines.push(`? ${pathText(path)} (not covered: ${printable(reason)})`);
  return lines.map((line) => `${line}\n`).join('');
}

const notCompared = {
  binary: 'not text',
  'too-large': 'too large to compare',
  raced: 'changed meanwhile; run it again',
} as const;

function hunkText({ beforeStart, beforeLines, afterStart, afterLines, lines }: TextHunk): string[] {
  // As in a patch, an empty side is named by the line before it.
  const before = `${beforeLines === 0 ? beforeStart - 1 : beforeStart},${beforeLines}`;
  const after = `${afterLines === 0 ? afterStart - 1 : afterStart},${afterLines}`;
  const head = `@@ -${before} +${after} @@`;
  // Tabs are layout; everything else that could drive the terminal is shown, not sent.
  return [head, ...lines.map((line) => line.split('\t').map(printable).join('\t'))];
}

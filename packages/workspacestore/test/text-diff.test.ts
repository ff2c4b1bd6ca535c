import * as fs from 'node:fs';
import * as path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { layerBlobs } from '@holdfast/blobs/layers';
import type { DiffOptions, Ref, TextHunk, TreeChange } from '@holdfast/workspacestore';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';

import { passOn } from './support/pass-on.js';
import { withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

let root: string;
let blobs: Blobs;

beforeEach(() => {
  root = path.join(temporaryDirectory(), 'root');
  fs.mkdirSync(root);
  blobs = memoryBlobs();
});

const at = (name: string): string => path.join(root, name);

/** The changes between two states of the root, made by the two functions; refs and live tree must agree. */
async function changesOf(
  before: () => void,
  after: () => void,
  options: DiffOptions = { text: true },
): Promise<readonly TreeChange[]> {
  return await withStore(blobs, async (store) => {
    before();
    const first = await store.snapshot(root);
    after();
    const live = await store.diffLive(root, first.ref, options);
    const second = await store.snapshot(root);
    const { changes } = await store.diff(first.ref, second.ref, options);
    expect(live.changes).toEqual(changes);
    return changes;
  });
}

async function textOf(before: string | Buffer, after: string | Buffer, options?: DiffOptions) {
  const [change] = await changesOf(
    () => {
      fs.writeFileSync(at('f'), before);
    },
    () => {
      fs.writeFileSync(at('f'), after);
    },
    options,
  );
  return change?.text;
}

/** Applies hunks to a text as a reader of the type's documentation would. */
function apply(text: string, hunks: readonly TextHunk[]): string {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const out: string[] = [];
  let next = 0;
  for (const hunk of hunks) {
    out.push(...lines.slice(next, hunk.beforeStart - 1));
    next = hunk.beforeStart - 1;
    const start = out.length;
    for (const [position, line] of hunk.lines.entries()) {
      if (line.startsWith('\\')) continue;
      const body = line.slice(1) + (hunk.lines[position + 1]?.startsWith('\\') === true ? '' : '\n');
      if (line[0] !== '+') {
        expect(lines[next]).toBe(body);
        next += 1;
      }
      if (line[0] !== '-') out.push(body);
    }
    expect(next - hunk.beforeStart + 1).toBe(hunk.beforeLines);
    expect([start + 1, out.length - start]).toEqual([hunk.afterStart, hunk.afterLines]);
  }
  return [...out, ...lines.slice(next)].join('');
}

const numbered = (count: number, name = 'line'): string =>
  Array.from({ length: count }, (_, index) => `${name} ${index}\n`).join('');

describe('changed lines', () => {
  test('are shown with the lines around them', async () => {
    const after = numbered(20).replace('line 5\n', 'line five\n').replace('line 18\n', '');
    expect(await textOf(numbered(20), after, { text: { contextLines: 1 } })).toEqual({
      kind: 'lines',
      hunks: [
        {
          beforeStart: 5,
          beforeLines: 3,
          afterStart: 5,
          afterLines: 3,
          lines: [' line 4', '-line 5', '+line five', ' line 6'],
        },
        {
          beforeStart: 18,
          beforeLines: 3,
          afterStart: 18,
          afterLines: 2,
          lines: [' line 17', '-line 18', ' line 19'],
        },
      ],
    });
  });

  test('of files that come and go, and of the file in a changed type, are all their lines', async () => {
    const changes = await changesOf(
      () => {
        fs.writeFileSync(at('gone'), 'a\nb\n');
        fs.writeFileSync(at('turned'), 'was a file');
        fs.writeFileSync(at('empty'), '');
        fs.writeFileSync(at('moved'), 'moved\n');
        fs.writeFileSync(at('mode'), 'same');
        fs.symlinkSync('a', at('link'));
      },
      () => {
        fs.rmSync(at('gone'));
        fs.writeFileSync(at('new'), 'n');
        fs.rmSync(at('turned'));
        fs.mkdirSync(at('turned'));
        fs.rmSync(at('empty'));
        fs.renameSync(at('moved'), at('renamed'));
        fs.chmodSync(at('mode'), 0o600);
        fs.rmSync(at('link'));
        fs.symlinkSync('b', at('link'));
      },
    );
    const shown = changes.map(({ change, path: where, text }) => [
      `${change} ${where}`,
      text?.kind === 'lines' ? text.hunks.flatMap(({ lines }) => lines) : text?.kind,
    ]);
    expect(shown).toEqual([
      ['removed empty', []],
      ['removed gone', ['-a', '-b']],
      ['modified link', undefined],
      ['mode mode', undefined],
      ['added new', ['+n', '\\ No newline at end of file']],
      ['renamed renamed', undefined],
      ['type turned', ['-was a file', '\\ No newline at end of file']],
    ]);
  });

  test('turn the first text into the second one: generated edits, small and total', async () => {
    const line = fc.stringMatching(/^[ab€\r]{0,3}$/);
    const text = fc.array(fc.oneof(line.map((body) => `${body}\n`)), { maxLength: 40 });
    const ending = fc.constantFrom('', 'x', '\r', 'no line feed');
    await fc.assert(
      fc.asyncProperty(text, text, fc.nat(40), ending, ending, async (one, two, shared, e1, e2) => {
        const before = [...one, ...two.slice(shared)].join('') + e1;
        const after = [...one.slice(shared), ...two].join('') + e2;
        if (before === after) return;
        const found = await textOf(before, after);
        expect(found?.kind).toBe('lines');
        if (found?.kind === 'lines') expect(apply(before, found.hunks)).toBe(after);
      }),
      { numRuns: 60 },
    );
  });

  test.each([0, 3])('that are too many are one block, and still true: context %i', async (contextLines) => {
    const before = `head 1\nhead 2\nhead 3\nhead 4\n${numbered(4000, 'old')}tail 1\ntail 2`;
    const after = `head 1\nhead 2\nhead 3\nhead 4\n${numbered(3000, 'new')}tail 1\ntail 2`;
    const found = await textOf(before, after, { text: { contextLines } });
    if (found?.kind !== 'lines') throw new Error(found?.kind);
    expect(found.hunks).toHaveLength(1);
    expect(found.hunks[0]?.lines.filter((text) => text.startsWith(' '))).toHaveLength(
      contextLines === 0 ? 0 : 5,
    );
    expect(apply(before, found.hunks)).toBe(after);
  });

  test('are not looked for in what is no text, or too large, which is said', async () => {
    expect(await textOf('text', Buffer.from([1, 0, 2]))).toEqual({ kind: 'binary' });
    expect(await textOf(Buffer.from([0xff, 0xfe]), 'text')).toEqual({ kind: 'binary' });
    expect(await textOf('\ufefftext\n', 'text\n')).toMatchObject({
      hunks: [{ lines: ['-\ufefftext', '+text'] }],
    });
    expect(await textOf('12345', '123456', { text: { maxFileBytes: 5 } })).toEqual({ kind: 'too-large' });
    expect(await textOf('12345', '12346', { text: { maxFileBytes: 5 } })).toMatchObject({ kind: 'lines' });
    expect(await textOf('1', 'x'.repeat(2 ** 20 + 1))).toEqual({ kind: 'too-large' });
    expect(await textOf('1', 'x'.repeat(2 ** 20))).toMatchObject({ kind: 'lines' });
  });

  test('of all files together stay within their bytes', async () => {
    const changes = await changesOf(
      () => undefined,
      () => {
        for (const name of ['a', 'b', 'c', 'd']) fs.writeFileSync(at(name), name === 'c' ? '1' : '1234');
      },
      { text: { maxTotalBytes: 9 } },
    );
    expect(changes.map(({ text }) => text?.kind)).toEqual(['lines', 'lines', 'lines', 'too-large']);
  });

  test('of a file that changes under the comparison are not made up', async () => {
    const spying = layerBlobs(
      blobs,
      [
        (driver) => ({
          ...passOn(driver),
          get: (...call) => {
            // The last read of the store fetches the stored content, after the scan.
            fs.appendFileSync(at('f'), 'more\n');
            return driver.get(...call);
          },
        }),
      ],
      { keepOpen: true },
    );
    fs.writeFileSync(at('f'), 'one\n');
    const { ref } = await withStore(blobs, {}, (store) => store.snapshot(root));
    await withStore(spying, async (store) => {
      const { changes } = await store.diffLive(root, ref, { text: true });
      expect(changes.map(({ text }) => text)).toEqual([{ kind: 'raced' }]);
    });
  });

  test('never come from behind a link', async () => {
    fs.mkdirSync(at('d'));
    fs.writeFileSync(at('d/f'), 'inside\n');
    fs.mkdirSync(`${root}-outside`);
    fs.writeFileSync(path.join(`${root}-outside`, 'f'), 'SECRET\n');
    await withStore(blobs, async (store) => {
      const { ref } = await store.snapshot(root);
      fs.rmSync(at('d'), { recursive: true });
      fs.symlinkSync(`${root}-outside`, at('d'));
      const { changes } = await store.diffLive(root, ref, { text: true });
      expect(JSON.stringify(changes)).not.toContain('SECRET');
      expect(changes.map(({ change, path: where }) => `${change} ${where}`)).toEqual([
        'type d',
        'removed d/f',
      ]);
    });
  });

  test('are refused with numbers that are none', async () => {
    await withStore(blobs, async (store) => {
      const { ref } = await store.snapshot(root);
      for (const text of [{ contextLines: -1 }, { maxFileBytes: 0.5 }, { maxTotalBytes: Number.NaN }]) {
        await expect(store.diff(ref, ref, { text })).rejects.toThrow(RangeError);
        await expect(store.diffLive(root, ref as Ref, { text })).rejects.toThrow(RangeError);
      }
    });
  });
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { anchorsOf, linksOf } from './links.mjs';

const tool = fileURLToPath(new URL('check-links.mjs', import.meta.url));

describe('linksOf', () => {
  test('finds relative links and images, not code and not the web', () => {
    const text = [
      '[a](a.md) and ![b](img/b.png "title") and [c](https://example.org/x.md) [m](mailto:a@b)',
      '`[no](no.md)`',
      '```',
      '[no](no.md)',
      '```',
      '[d]: d.md#part',
    ].join('\n');
    expect(linksOf(text)).toEqual([
      { line: 1, target: 'a.md' },
      { line: 1, target: 'img/b.png' },
      { line: 6, target: 'd.md#part' },
    ]);
  });
});

describe('anchorsOf', () => {
  test('makes anchors as code hosts do', () => {
    const text =
      '# One Two\n## `code` & more!\n### [Link](x.md)\n## One Two\n```\n# no\n```\n<a id="own"></a>\n';
    expect([...anchorsOf(text)]).toEqual(['one-two', 'code--more', 'link', 'one-two-1', 'own']);
  });
});

describe('the tool', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'holdfast-links-'));
    mkdirSync(path.join(root, 'docs'));
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  function check(text: string): { status: number | null; output: string } {
    writeFileSync(path.join(root, 'docs', 'a.md'), text);
    writeFileSync(path.join(root, 'b.md'), '# Part one\n');
    const result = spawnSync(process.execPath, [tool, '--root', root], { encoding: 'utf8' });
    return { status: result.status, output: result.stdout + result.stderr };
  }

  test('accepts links that lead somewhere', () => {
    const text = '# Here\n[b](../b.md#part-one) [self](#here) [directory](../docs) [root](/b.md)\n';
    expect(check(text)).toEqual({
      status: 0,
      output: '4 relative links in 2 Markdown files lead somewhere\n',
    });
  });

  test.each([
    ['[x](x.md)', /docs\/a\.md:1: x\.md leads to nothing/],
    ['[b](../b.md#part-two)', /no such heading/],
    ['[out](../../../)', /leads out of the repository/],
  ])('refuses %s', (text, message) => {
    const result = check(text);
    expect(result.status).toBe(1);
    expect(result.output).toMatch(message);
  });
});

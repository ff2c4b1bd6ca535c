import { symlinkSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { Bench, failure } from './support/bench.js';

async function tree(): Promise<Bench> {
  const bench = await new Bench().open({
    limits: { listEntries: 8, searchMatches: 3, searchFileBytes: 200, searchBytes: 1000 },
  });
  bench.write('src/a.ts', 'const one = 1;\r\nconst two = 2;\n');
  bench.write('src/b.ts', 'ONE\nfoo.bar(one)\n');
  bench.write('src/deep/c.md', 'one');
  bench.write('.git/config', 'one');
  symlinkSync('src', bench.at('link'));
  return bench;
}

describe('list', () => {
  it('shows one level, parents first, in byte order, and follows no link', async () => {
    const bench = await tree();
    expect(await bench.run((tools) => tools.list.call({}))).toEqual({
      path: '.',
      entries: [
        { path: '.git', kind: 'directory' },
        { path: 'link', kind: 'symlink', target: 'src' },
        { path: 'src', kind: 'directory' },
      ],
      complete: true,
      notEntered: 2,
    });
  });

  it('goes down, but not into what is skipped unless it is asked for', async () => {
    const bench = await tree();
    const all = await bench.run((tools) => tools.list.call({ depth: 9 }));
    expect(all.entries.map((entry) => entry.path)).toEqual([
      '.git',
      'link',
      'src',
      'src/a.ts',
      'src/b.ts',
      'src/deep',
      'src/deep/c.md',
    ]);
    expect(all).toMatchObject({ complete: true, notEntered: 1 });
    const git = await bench.run((tools) => tools.list.call({ path: '.git' }));
    expect(git.entries).toEqual([{ path: '.git/config', kind: 'file', size: 3 }]);
  });

  it('says when there is more than it shows', async () => {
    const bench = await tree();
    for (let index = 0; index < 9; index += 1) bench.write(`many/${index}`, '');
    const many = await bench.run((tools) => tools.list.call({ path: 'many' }));
    expect(many.entries).toHaveLength(8);
    expect(many.complete).toBe(false);
  });

  it('tells what is not there', async () => {
    const bench = await tree();
    expect(await failure(bench.run((tools) => tools.list.call({ path: 'none' })))).toMatchObject({
      code: 'AGENT_TOOLS_MISSING',
      path: 'none',
    });
  });
});

describe('search', () => {
  it('finds plain text, whatever it means in a regular expression', async () => {
    const bench = await tree();
    const found = await bench.run((tools) => tools.search.call({ pattern: 'foo.bar(' }));
    expect(found).toEqual({
      matches: [{ path: 'src/b.ts', line: 2, column: 1, text: 'foo.bar(one)' }],
      files: 3,
      leftOut: { notText: 0, tooLarge: 0, unreadable: 0, directories: 1 },
    });
  });

  it('finds regular expressions line by line, with or without case', async () => {
    const bench = await tree();
    const ends = await bench.run((tools) =>
      tools.search.call({ pattern: '^const \\w+ = [12];$', regex: true }),
    );
    expect(ends.matches.map(({ line }) => line)).toEqual([1, 2]);
    const folded = await bench.run((tools) =>
      tools.search.call({ pattern: 'one', ignoreCase: true, path: 'src', suffix: 'b.ts' }),
    );
    expect(folded.matches.map(({ line, column }) => [line, column])).toEqual([
      [1, 1],
      [2, 9],
    ]);
    const loose = await bench.run((tools) =>
      tools.search.call({ pattern: '\\"?foo\\.bar', regex: true, path: 'src/b.ts' }),
    );
    expect(loose.matches).toHaveLength(1);
  });

  it('stops at the limit of matches, and says whether there were more', async () => {
    const bench = await tree();
    bench.write('three.txt', 'x1\nx2\nx3\n');
    const exact = await bench.run((tools) => tools.search.call({ pattern: 'x', path: 'three.txt' }));
    expect(exact.matches).toHaveLength(3);
    expect(exact.stopped).toBeUndefined();
    bench.write('three.txt', 'x1\nx2\nx3\nx4\n');
    const more = await bench.run((tools) => tools.search.call({ pattern: 'x', path: 'three.txt' }));
    expect(more.matches).toHaveLength(3);
    expect(more).toMatchObject({ stopped: 'matches', stoppedAt: 'three.txt' });
  });

  it('leaves out what is not text or too large, and stops at the limit of bytes', async () => {
    const bench = await tree();
    bench.write('nul.bin', 'one\0');
    bench.write('latin1.txt', Buffer.from('one \xe9', 'latin1'));
    bench.write('large.txt', 'y'.repeat(201));
    const found = await bench.run((tools) => tools.search.call({ pattern: 'y' }));
    expect(found).toMatchObject({ matches: [], files: 3, leftOut: { notText: 2, tooLarge: 1 } });
    for (let index = 0; index < 6; index += 1) bench.write(`z${index}`, 'z'.repeat(190));
    const bytes = await bench.run((tools) => tools.search.call({ pattern: 'none' }));
    expect(bytes).toMatchObject({ stopped: 'bytes', stoppedAt: 'z4' });
  });

  it('shows the part of a long line around what it found', async () => {
    const bench = await new Bench().open();
    bench.write('min.js', `${'a'.repeat(5000)}needle${'b'.repeat(5000)}`);
    const { matches } = await bench.run((tools) => tools.search.call({ pattern: 'needle' }));
    expect(matches[0]?.column).toBe(5001);
    expect(matches[0]?.text).toMatch(/^…a+needleb+…$/);
    expect(matches[0]?.text.length).toBeLessThan(500);
  });

  it('a pattern that would take for ever is ended, and the event loop stays free', async () => {
    const bench = await new Bench().open({ limits: { searchMs: 2_000 } });
    bench.write('a.txt', 'aaab here\n');
    bench.write('b.txt', `${'a'.repeat(60)}!\n`);
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 10);
    const found = await bench
      .run((tools) => tools.search.call({ pattern: '^(a+)+b', regex: true }))
      .finally(() => clearInterval(timer));
    expect(found).toMatchObject({
      matches: [{ path: 'a.txt', line: 1 }],
      stopped: 'time',
      stoppedAt: 'b.txt',
    });
    expect(turns).toBeGreaterThan(2);
  });

  it('and at once by an abort', async () => {
    const bench = await new Bench().open();
    bench.write('b.txt', `${'a'.repeat(60)}!\n`);
    const abort = new AbortController();
    const reason = new Error('enough');
    const call = failure(
      bench.run((tools) => {
        const found = tools.search.call({ pattern: '^(a+)+b', regex: true }, { signal: abort.signal });
        abort.abort(reason);
        return found;
      }),
    );
    expect(await call).toBe(reason);
  });

  it.each(['(', '(?<a>x)(?<a>y)', 'a{2,1}'])('refuses %s', async (pattern) => {
    const bench = await tree();
    const error = await failure(bench.run((tools) => tools.search.call({ pattern, regex: true })));
    expect(error).toMatchObject({ code: 'AGENT_TOOLS_SEARCH_PATTERN', pattern });
  });

  it('refuses a pattern that turns out too large to be run', async () => {
    const bench = await new Bench().open();
    bench.write('a.txt', 'aaaa\n');
    const pattern = '(((((a?){20}){20}){20}){20}){20}';
    const error = await failure(bench.run((tools) => tools.search.call({ pattern, regex: true })));
    expect(error).toMatchObject({ code: 'AGENT_TOOLS_SEARCH_PATTERN', pattern });
  });
});

describe('read', () => {
  it('refuses what is not text', async () => {
    const bench = await new Bench().open();
    bench.write('latin1.txt', Buffer.from('caf\xe9', 'latin1'));
    const error = await failure(bench.run((tools) => tools.read.call({ path: 'latin1.txt' })));
    expect(error).toMatchObject({ code: 'AGENT_TOOLS_NOT_TEXT', path: 'latin1.txt' });
  });

  it('cuts a line that is too long between two characters', async () => {
    const bench = await new Bench().open({ limits: { readBytes: 10 } });
    bench.write('long.txt', '公共函数公共函数');
    const part = await bench.run((tools) => tools.read.call({ path: 'long.txt' }));
    expect(part).toMatchObject({ content: '公共函', lines: 1, complete: false, more: true, lineCut: true });
  });

  it('reads lines far into a large file', async () => {
    const bench = await new Bench().open();
    const lines = Array.from({ length: 100_000 }, (_, index) => `line ${index + 1}`);
    bench.write('large.txt', `${lines.join('\n')}\n`);
    const part = await bench.run((tools) => tools.read.call({ path: 'large.txt', line: 77_777, lines: 2 }));
    expect(part).toMatchObject({ content: 'line 77777\nline 77778\n', line: 77_777, lines: 2, more: true });
    const last = await bench.run((tools) => tools.read.call({ path: 'large.txt', line: 100_000 }));
    expect(last).toMatchObject({ content: 'line 100000\n', lines: 1, more: false, complete: false });
    const after = await bench.run((tools) => tools.read.call({ path: 'large.txt', line: 100_001 }));
    expect(after).toMatchObject({ content: '', lines: 0, more: false, complete: false });
  });
});

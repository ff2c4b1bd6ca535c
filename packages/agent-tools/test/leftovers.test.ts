import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { Bench } from './support/bench.js';

const writer = fileURLToPath(new URL('fixtures/writer.mjs', import.meta.url));

const temporaries = (bench: Bench, ...names: string[]): string[] =>
  readdirSync(bench.at(...names)).filter((name) => name.startsWith('.holdfast-tmp-agent-tools-'));

/** A process that gets a signal in the middle of writing a file. */
async function startWriter(bench: Bench, file: string, signal: 'SIGKILL' | 'SIGSTOP') {
  const child = spawn(process.execPath, [writer, bench.root, file, signal], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  await once(child.stdout, 'data');
  if (signal === 'SIGKILL') await closed;
  return { child, closed };
}

describe('what a killed process was writing', () => {
  it('is removed before the first change of the next one, wherever it is', async () => {
    const bench = new Bench();
    bench.write('deep/er/known.txt', '');
    await startWriter(bench, 'a.txt', 'SIGKILL');
    expect(temporaries(bench)).toHaveLength(1);
    // It removes what the first one left, and is killed itself.
    await startWriter(bench, 'deep/er/b.txt', 'SIGKILL');
    expect([temporaries(bench).length, temporaries(bench, 'deep', 'er').length]).toEqual([0, 1]);
    await bench.open();
    await bench.run((tools) => tools.write.call({ path: 'other/c.txt', content: 'new' }));
    expect([temporaries(bench), temporaries(bench, 'deep', 'er')]).toEqual([[], []]);
    expect([existsSync(bench.at('a.txt')), bench.text('other/c.txt')]).toEqual([false, 'new']);
  });

  it('stays while its process lives, and is published by it', async () => {
    const bench = new Bench();
    const { child, closed } = await startWriter(bench, 'a.txt', 'SIGSTOP');
    await bench.open();
    await bench.run((tools) => tools.write.call({ path: 'b.txt', content: 'new' }));
    expect(temporaries(bench)).toHaveLength(1);
    child.kill('SIGCONT');
    await closed;
    expect([temporaries(bench), bench.text('a.txt')]).toEqual([[], 'half']);
  });

  it('stays for an hour when nobody can tell who wrote it; what others have is left alone', async () => {
    const bench = new Bench();
    const nobodys = `.holdfast-tmp-agent-tools-${'0'.repeat(16)}-${'1'.repeat(16)}`;
    const old = `.holdfast-tmp-agent-tools-${'0'.repeat(16)}-${'2'.repeat(16)}`;
    const others = `.holdfast-tmp-restore-${'3'.repeat(16)}`;
    for (const name of [nobodys, old, others]) bench.write(path.join('d', name), '');
    const before = new Date(Date.now() - 2 * 3_600_000);
    for (const name of [old, others]) utimesSync(bench.at('d', name), before, before);
    await bench.open();
    await bench.run((tools) => tools.write.call({ path: 'b.txt', content: 'new' }));
    expect(readdirSync(bench.at('d')).sort()).toEqual([nobodys, others].sort());
  });
});

import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { nodeFileSystem } from '@holdfast/durable';
import { readTree } from '@holdfast/durable/testing';
import { afterEach, describe, expect, it } from 'vitest';

import { temporaryDirectory } from './support/bench.js';

const run = promisify(execFile);
const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.mjs`, import.meta.url));
const disk = nodeFileSystem();
const time = { timeout: 600_000 };

const running = new Set<ChildProcessByStdio<Writable, Readable, null>>();

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

function build(root: string): void {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(join(root, 'd/deep'), { recursive: true });
  writeFileSync(join(root, 'a'), 'old');
  writeFileSync(join(root, 'd/deep/x'), 'x');
  writeFileSync(join(root, 'f'), 'a file');
  symlinkSync('one', join(root, 'l'));
}

/** Restores and dies before the n-th change; returns how many changes there were when it lived. */
async function restoreUntil(base: string, strategy: string, nth: number): Promise<number> {
  const { stdout } = await run(process.execPath, [fixture('killed'), base, strategy, String(nth)]).catch(
    (error: { signal?: string; stdout: string }) => {
      if (error.signal !== 'SIGKILL') throw error;
      return error;
    },
  );
  return Number(stdout);
}

/** An opener that waits for the word. */
class Opener {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: string[] = [];
  readonly ended: Promise<NodeJS.Signals | number>;

  constructor(root: string, nth: number) {
    const child = spawn(process.execPath, [fixture('opener'), root, String(nth)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child = child;
    running.add(child);
    child.stdout.on('data', (chunk: Buffer) => this.#lines.push(chunk.toString()));
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        running.delete(child);
        resolve(signal ?? code ?? -1);
      });
    });
  }

  async ready(): Promise<void> {
    if (this.#lines.length === 0) await once(this.#child.stdout, 'data');
  }

  go(): void {
    this.#child.stdin.write('go\n');
  }

  get report(): { readonly action: string; readonly phases: readonly string[] } {
    return JSON.parse(this.#lines.join('').replace('ready\n', '')) as never;
  }
}

for (const strategy of ['reconcile', 'swap']) {
  describe(`an interrupted restore by ${strategy} that several openers find`, () => {
    it('is recovered once, whoever comes first and whoever dies', time, async () => {
      const base = temporaryDirectory();
      const root = join(base, 'root');
      build(root);
      const before = readTree(disk, root);
      const changes = await restoreUntil(base, strategy, 0);
      const after = readTree(disk, root);
      const seen = { old: 0, new: 0, dead: 0 };
      for (const [round, part] of [0.3, 0.5, 0.6, 0.7, 0.8, 0.97].entries()) {
        build(root);
        const nth = Math.round(changes * part);
        await restoreUntil(base, strategy, nth);
        // One of them dies in the middle of what it does.
        const openers = [0, 0, 2 + round * 2].map((dies) => new Opener(root, dies));
        await Promise.all(openers.map((opener) => opener.ready()));
        for (const opener of openers) opener.go();
        const ends = await Promise.all(openers.map((opener) => opener.ended));
        expect(ends.slice(0, 2), `killed before change ${nth}`).toEqual([0, 0]);
        expect([0, 'SIGKILL']).toContain(ends[2]);
        if (ends[2] === 'SIGKILL') {
          seen.dead += 1;
          // What the dead one left half removed goes with the next.
          const last = new Opener(root, 0);
          await last.ready();
          last.go();
          expect(await last.ended).toBe(0);
        }
        for (const { report } of openers.slice(0, 2)) {
          expect(['undone', 'kept', 'cleaned', 'none']).toContain(report.action);
          expect(report.phases.every((phase) => phase === 'undone' || phase === 'committed')).toBe(true);
        }
        const tree = readTree(disk, root);
        const isNew = JSON.stringify(tree) === JSON.stringify(after);
        expect(tree, `killed before change ${nth}`).toEqual(isNew ? after : before);
        seen[isNew ? 'new' : 'old'] += 1;
        expect(readdirSync(base)).toEqual(['root']);
      }
      expect(seen.old).toBeGreaterThan(2);
      expect(seen.new).toBeGreaterThan(0);
      expect(seen.dead).toBeGreaterThan(0);
    });
  });

  it(
    `two processes that restore one root by ${strategy} again and again never mix their trees`,
    time,
    async () => {
      const base = temporaryDirectory();
      const root = join(base, 'root');
      build(root);
      const rival = async (name: string) => {
        const { stdout } = await run(process.execPath, [fixture('rival'), root, strategy, name, '15']);
        return JSON.parse(stdout) as { wrong: unknown[]; tree: string };
      };
      const [one, two] = await Promise.all([rival('one'), rival('two')]);
      expect([one.wrong, two.wrong]).toEqual([[], []]);
      expect(one.tree).not.toBe(two.tree);
      expect([one.tree, two.tree]).toContain(JSON.stringify(readTree(disk, root)));
      expect(readdirSync(base)).toEqual(['root']);
    },
  );
}

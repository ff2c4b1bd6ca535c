import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { seededRandom } from '@holdfast/base/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { checkHistory, type HistoryEvent, parseHistory } from './history.js';
import { temporaryDirectory } from './temporary-directory.js';

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
const seed = Number(process.env['HOLDFAST_SEED'] ?? Date.now() % 1_000_000);
/** 60 in the default run; the long run of the table of effort sets more. */
const wantedTakeovers = Number(process.env['HOLDFAST_LEASE_TAKEOVERS'] ?? 60);

const temporary = temporaryDirectory();
beforeAll(() => {
  const built = fileURLToPath(new URL('../dist/fs/index.js', import.meta.url));
  if (!existsSync(built))
    throw new Error('build first: these tests run other processes from dist (npx tsc -b packages/lease)');
});
afterAll(() => {
  temporary.remove();
});

type Contender = ChildProcessByStdio<Writable, null, Readable>;

class Arena {
  readonly log: string = join(temporary.make(), 'log');
  readonly #directory = temporary.make();
  readonly #random = seededRandom(seed);
  readonly #running = new Set<Contender>();
  readonly #stopped = new Set<Contender>();
  readonly #names = ['alpha', 'beta/gamma', 'delta'];
  readonly failures: string[] = [];
  readonly #resumes: Promise<unknown>[] = [];
  #started = 0;

  constructor() {
    writeFileSync(this.log, '');
  }

  start(): void {
    this.#started += 1;
    const args = [this.#directory, this.log, String(seed + this.#started), '300', ...this.#names];
    const child: Contender = spawn(process.execPath, [fixture('contender.mjs'), ...args], {
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    child.stderr.on('data', (text: Buffer) => this.failures.push(text.toString()));
    child.on('exit', (code, signal) => {
      this.#running.delete(child);
      if (signal !== 'SIGKILL' && code !== 0) this.failures.push(`a contender ended with ${code ?? signal}`);
    });
    this.#running.add(child);
  }

  history(): HistoryEvent[] {
    return parseHistory(readFileSync(this.log, 'utf8'));
  }

  /** Disturbs one contender, a holder if possible: that is where exclusion can break. */
  disturb(): void {
    const inside = new Map<string, number>();
    for (const { type, name = '', pid } of this.history()) {
      if (type === 'enter') inside.set(name, pid);
      if (type === 'exit') inside.delete(name);
    }
    const moving = [...this.#running].filter((child) => !this.#stopped.has(child));
    const holders = moving.filter((child) => [...inside.values()].includes(child.pid ?? 0));
    const victims = holders.length > 0 && this.#random.below(10) > 0 ? holders : moving;
    if (victims.length === 0) return;
    const victim = this.#random.pick(victims);
    if (this.#random.below(4) === 0) {
      this.#pause(victim, this.#random.below(600));
      return;
    }
    appendFileSync(this.log, `${JSON.stringify({ type: 'killing', pid: victim.pid })}\n`);
    victim.kill('SIGKILL');
    this.start();
  }

  /** Often longer than the time-to-live, which must not matter on one host. */
  #pause(victim: Contender, milliseconds: number): void {
    victim.kill('SIGSTOP');
    this.#stopped.add(victim);
    const resumed = sleep(milliseconds).then(() => {
      victim.kill('SIGCONT');
      this.#stopped.delete(victim);
    });
    this.#resumes.push(resumed);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#resumes);
    const ends = [...this.#running].map(async (child) => {
      child.stdin.end();
      await once(child, 'exit');
    });
    await Promise.all(ends);
  }

  killAll(): void {
    for (const child of this.#running) child.kill('SIGKILL');
  }
}

describe('eight processes on three leases', () => {
  it(
    `exclude each other through ${wantedTakeovers} takeovers (HOLDFAST_SEED=${seed})`,
    async () => {
      const arena = new Arena();
      try {
        for (let count = 0; count < 8; count += 1) arena.start();
        let verdict = checkHistory([]);
        while (verdict.takeovers < wantedTakeovers) {
          await sleep(20);
          arena.disturb();
          verdict = checkHistory(arena.history());
          expect([...verdict.violations, ...arena.failures], `HOLDFAST_SEED=${seed}`).toEqual([]);
        }
        await arena.stop();
        verdict = checkHistory(arena.history());
        expect([...verdict.violations, ...arena.failures], `HOLDFAST_SEED=${seed}`).toEqual([]);
        expect(verdict.grants).toBeGreaterThan(wantedTakeovers);
      } finally {
        arena.killAll();
      }
    },
    60_000 + wantedTakeovers * 2000,
  );
});

/** One process that holds a lease and answers commands on standard input, one line each. */
class HolderProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  #output = '';
  #wake: () => void = () => undefined;

  constructor(directory: string, ttl: number) {
    this.child = spawn(process.execPath, [fixture('holder.mjs'), directory, 'contested', String(ttl)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child.stdout.on('data', (text: Buffer) => {
      this.#output += text.toString();
      this.#wake();
    });
  }

  command(line: string): void {
    this.child.stdin.write(`${line}\n`);
  }

  has(line: string): boolean {
    return this.#output.split('\n').slice(0, -1).includes(line);
  }

  async says(line: string): Promise<void> {
    while (!this.has(line)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

describe('two processes on one lease', () => {
  it('let a killed holder be overtaken at once, whatever its time-to-live', async () => {
    const directory = temporary.make();
    const hour = 3_600_000;
    const [first, second] = [new HolderProcess(directory, hour), new HolderProcess(directory, hour)];
    try {
      first.command('acquire');
      await first.says('granted 1');
      second.command('acquire');
      await second.says('waiting');
      first.child.kill('SIGKILL');
      await second.says('granted 2');
    } finally {
      first.child.kill('SIGKILL');
      second.child.kill('SIGKILL');
    }
  }, 60_000);

  it('do not overtake a stopped holder, which goes on as if nothing had happened', async () => {
    const directory = temporary.make();
    const [first, second] = [new HolderProcess(directory, 200), new HolderProcess(directory, 200)];
    try {
      first.command('acquire');
      await first.says('granted 1');
      first.child.kill('SIGSTOP');
      second.command('acquire');
      await second.says('waiting');
      await sleep(1500);
      expect(second.has('granted 2')).toBe(false);
      first.child.kill('SIGCONT');
      first.command('check');
      await first.says('stands');
      await sleep(300);
      expect(second.has('granted 2')).toBe(false);
      first.command('release');
      await second.says('granted 2');
    } finally {
      first.child.kill('SIGKILL');
      second.child.kill('SIGKILL');
    }
  }, 60_000);

  it('count a zombie as dead', async () => {
    const directory = temporary.make();
    const parent = spawn(process.execPath, [fixture('zombie-parent.mjs'), directory], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const waiter = new HolderProcess(directory, 3_600_000);
    try {
      await once(parent.stdout, 'data');
      waiter.command('acquire');
      await waiter.says('granted 2');
    } finally {
      parent.kill('SIGKILL');
      waiter.child.kill('SIGKILL');
    }
  }, 60_000);
});

describe('the history checker', () => {
  const enter = (pid: number, epoch: number): HistoryEvent => ({ type: 'enter', name: 'a', epoch, pid });
  const exit = (pid: number, epoch: number): HistoryEvent => ({ type: 'exit', name: 'a', epoch, pid });
  const work = (pid: number, epoch: number): HistoryEvent => ({ type: 'work', name: 'a', epoch, pid });

  it('accepts a handover and a takeover after a kill', () => {
    const good = [
      enter(1, 1),
      work(1, 1),
      exit(1, 1),
      enter(2, 3),
      { type: 'killing', pid: 2 } as const,
      enter(1, 4),
    ];
    expect(checkHistory(good)).toEqual({ violations: [], grants: 3, takeovers: 1 });
  });

  it('finds an overlap, a late action, a repeated epoch and a loss', () => {
    expect(checkHistory([enter(1, 1), enter(2, 2)]).violations).toHaveLength(1);
    expect(
      checkHistory([enter(1, 1), { type: 'killing', pid: 1 }, enter(2, 2), work(1, 1)]).violations,
    ).toHaveLength(1);
    expect(checkHistory([enter(1, 1), exit(1, 1), enter(2, 1)]).violations).toHaveLength(1);
    expect(
      checkHistory([enter(1, 1), { type: 'lost', name: 'a', epoch: 1, pid: 1 }]).violations,
    ).toHaveLength(1);
  });
});

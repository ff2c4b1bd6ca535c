import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { seededRandom } from '@holdfast/base/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { HistoryChecker, type HistoryEvent, LogReader } from './history.js';
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

/** Enough that somebody is always starting, few enough that most are fighting. */
const maxStarting = 3;

class Arena {
  readonly checker: HistoryChecker = new HistoryChecker();
  readonly failures: string[] = [];
  readonly #directory = temporary.make();
  readonly #log = join(temporary.make(), 'log');
  readonly #reader: LogReader;
  readonly #random = seededRandom(seed);
  readonly #running = new Set<Contender>();
  readonly #stopped = new Set<Contender>();
  readonly #resumes: Promise<unknown>[] = [];
  readonly #names = ['alpha', 'beta/gamma', 'delta', 'epsilon'];
  #started = 0;

  constructor() {
    writeFileSync(this.#log, '');
    this.#reader = new LogReader(this.#log);
  }

  start(): void {
    this.#started += 1;
    const args = [this.#directory, this.#log, String(seed + this.#started), '300', ...this.#names];
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

  /** Reads on in the log; everything that is wrong so far. */
  problems(): string[] {
    for (const event of this.#reader.events()) this.checker.add(event);
    return [...this.checker.violations, ...this.failures];
  }

  /** Disturbs one contender, a holder if possible: that is where exclusion can break. */
  disturb(): void {
    const fighting = [...this.#running].filter((child) => this.checker.hasSeen(child.pid ?? 0));
    const moving = fighting.filter((child) => !this.#stopped.has(child));
    const holders = moving.filter((child) => this.checker.inside.includes(child.pid ?? 0));
    const victims = holders.length > 0 && this.#random.below(10) > 0 ? holders : moving;
    if (victims.length === 0 || this.#running.size - fighting.length >= maxStarting) return;
    const victim = this.#random.pick(victims);
    if (this.#random.below(5) === 0) {
      this.#pause(victim, this.#random.below(500));
      return;
    }
    appendFileSync(this.#log, `${JSON.stringify({ type: 'killing', pid: victim.pid })}\n`);
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
    await this.#end((child) => {
      child.stdin.end();
    });
  }

  async close(): Promise<void> {
    await this.#end((child) => child.kill('SIGKILL'));
    this.#reader.close();
  }

  async #end(end: (child: Contender) => void): Promise<void> {
    const exits = [...this.#running].map(async (child) => {
      const exited = once(child, 'exit');
      end(child);
      await exited;
    });
    await Promise.all(exits);
  }
}

describe('eight processes on four leases', () => {
  it(
    `exclude each other through ${wantedTakeovers} takeovers (HOLDFAST_SEED=${seed})`,
    async () => {
      const arena = new Arena();
      try {
        for (let count = 0; count < 8; count += 1) arena.start();
        while (arena.checker.takeovers < wantedTakeovers) {
          await sleep(10);
          expect(arena.problems(), `HOLDFAST_SEED=${seed}`).toEqual([]);
          arena.disturb();
        }
        await arena.stop();
        countForCampaign('take-overs of leases', arena.checker.takeovers);
        expect(arena.problems(), `HOLDFAST_SEED=${seed}`).toEqual([]);
        expect(arena.checker.grants).toBeGreaterThan(wantedTakeovers);
      } finally {
        await arena.close();
      }
    },
    120_000 + wantedTakeovers * 3000,
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
  });

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
  });

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
  });
});

describe('the history checker', () => {
  const enter = (pid: number, epoch: number): HistoryEvent => ({ type: 'enter', name: 'a', epoch, pid });
  const exit = (pid: number, epoch: number): HistoryEvent => ({ type: 'exit', name: 'a', epoch, pid });
  const work = (pid: number, epoch: number): HistoryEvent => ({ type: 'work', name: 'a', epoch, pid });

  const check = (events: readonly HistoryEvent[]): HistoryChecker => {
    const checker = new HistoryChecker();
    for (const event of events) checker.add(event);
    return checker;
  };

  it('accepts a handover and a takeover after a kill', () => {
    const killing: HistoryEvent = { type: 'killing', pid: 2 };
    const good = check([enter(1, 1), work(1, 1), exit(1, 1), enter(2, 3), killing, enter(1, 4)]);
    expect(good.violations).toEqual([]);
    expect(good).toMatchObject({ grants: 3, takeovers: 1, inside: [1] });
  });

  it.each<readonly [string, readonly HistoryEvent[]]>([
    ['an overlap', [enter(1, 1), enter(2, 2)]],
    ['a late action', [enter(1, 1), { type: 'killing', pid: 1 }, enter(2, 2), work(1, 1)]],
    ['a repeated epoch', [enter(1, 1), exit(1, 1), enter(2, 1)]],
    ['a loss', [enter(1, 1), { type: 'lost', name: 'a', epoch: 1, pid: 1 }]],
  ])('finds %s', (_, events) => {
    expect(check(events).violations).toHaveLength(1);
  });
});

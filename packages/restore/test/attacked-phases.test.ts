import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { type FileSystem, nodeFileSystem } from '@holdfast/durable';
import { type FileSystemCall, ForwardingFileSystem } from '@holdfast/durable/testing';
import {
  type RestoreStep,
  type RestoreStrategy,
  reconcile,
  recover,
  swap,
  sweepScratch,
} from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { type Bench, bench, temporaryDirectory } from './support/bench.js';

/** Operations of each phase that are attacked, spread evenly; `HOLDFAST_RACE_ATTEMPTS` raises it up to all of them. */
const most = Number(process.env['HOLDFAST_RACE_ATTEMPTS'] ?? 25);
/** What a restore and what comes after it go through. */
const phases = ['plan', 'stage', 'pass 1', 'pass 2', 'rollback', 'recovery', 'sweep'] as const;
type Phase = (typeof phases)[number];

const phaseOf: Partial<Record<RestoreStep, Phase>> = {
  scan: 'plan',
  stage: 'stage',
  secure: 'pass 1',
  commit: 'pass 2',
  undo: 'rollback',
};

/**
 * An enemy in step: before the n-th operation of a phase it puts a link to the outside in the place of the directory in
 * which the operation works, and takes it back afterwards. No clock decides whether it comes in time.
 */
class EnemyFileSystem extends ForwardingFileSystem {
  readonly #top: string;
  readonly #outside: string;
  readonly #foreign: ReadonlySet<bigint>;
  phase: Phase | undefined;
  target: Phase | undefined;
  nth = 0;
  /** Operations of the phase under attack so far. */
  operations = 0;
  strikes = 0;
  /** Operations that opened something outside. */
  readonly escapes: string[] = [];
  /** From here on every call fails, as for a process that is gone. */
  gone = false;

  constructor(inner: FileSystem, top: string, outside: string) {
    super(inner);
    this.#top = top;
    this.#outside = outside;
    const all = ['', ...(readdirSync(outside, { recursive: true }) as string[])];
    this.#foreign = new Set(all.map((name) => statSync(join(outside, name), { bigint: true }).ino));
  }

  protected around<T>(call: FileSystemCall, run: () => T): T {
    // Durability is no part of this.
    if (call.operation === 'sync') return undefined as T;
    if (this.gone && call.operation !== 'close') throw new Error('this process is gone');
    const victim = dirname(call.path);
    if (this.phase === undefined || this.phase !== this.target || !victim.startsWith(`${this.#top}/`))
      return this.#looked(call, run());
    this.operations += 1;
    if (this.operations !== this.nth || !this.#swapIn(victim)) return this.#looked(call, run());
    this.strikes += 1;
    try {
      return this.#looked(call, run());
    } finally {
      unlinkSync(victim);
      renameSync(`${victim}.real`, victim);
    }
  }

  #swapIn(victim: string): boolean {
    if (!existsSync(victim) || !lstatSync(victim).isDirectory()) return false;
    renameSync(victim, `${victim}.real`);
    symlinkSync(this.#outside, victim);
    return true;
  }

  #looked<T>(call: FileSystemCall, result: T): T {
    if (call.operation === 'openDir' || call.operation === 'openFile') {
      const { ino } = this.inner.fstat(result as never);
      if (this.#foreign.has(BigInt(ino))) this.escapes.push(`${call.operation} ${call.path}`);
    }
    return result;
  }
}

/** A disk that looks directories up by their paths at every call, as code without anchors does. */
function byPath(inner: FileSystem): FileSystem {
  const paths = new WeakMap<object, string>();
  const child = (dir: object, name: Uint8Array): string =>
    join(paths.get(dir) ?? '/', Buffer.from(name).toString());
  return new Proxy(inner, {
    get: (target, member) => {
      const own: unknown = Reflect.get(target, member, target);
      if (typeof own !== 'function') return own;
      return (...args: unknown[]): unknown => {
        if (member === 'openRoot') {
          const handle = inner.openRoot(args[0] as string);
          paths.set(handle, String(args[0]));
          return handle;
        }
        if (member === 'openDir') {
          const path = child(args[0] as object, args[1] as Uint8Array);
          const handle = inner.openRoot(realpathSync(path));
          paths.set(handle, path);
          return handle;
        }
        const fresh: object[] = [];
        const found = args.map((arg) => {
          const path = typeof arg === 'object' && arg !== null ? paths.get(arg) : undefined;
          if (path === undefined || member === 'close') return arg;
          const handle = inner.openRoot(realpathSync(path));
          fresh.push(handle);
          return handle;
        });
        try {
          return (own as (...call: unknown[]) => unknown).apply(target, found);
        } finally {
          for (const handle of fresh) inner.close(handle as never);
        }
      };
    },
  });
}

/** Names in the outside are those in the victims: whoever follows the link finds what it looks for. */
function buildOutside(outside: string): void {
  mkdirSync(join(outside, '.root.holdfast/session-1'), { recursive: true });
  mkdirSync(join(outside, 'root'));
  for (const name of ['a', 'b', 'gone', 'x', 'y', '0', '1', '2', '3', 'intent', 'top'])
    writeFileSync(join(outside, name), 'host', { mode: 0o640 });
  for (const name of ['d', 'e', 'sub', 'staged', 'undo']) mkdirSync(join(outside, name));
}

function stateOf(outside: string): string {
  const rows = (readdirSync(outside, { recursive: true }) as string[]).sort().map((name) => {
    const { mode, ino, nlink, size } = lstatSync(join(outside, name));
    const text = lstatSync(join(outside, name)).isFile() ? readFileSync(join(outside, name), 'utf8') : '';
    return [name, mode, ino, nlink, size, text];
  });
  return JSON.stringify([statSync(outside).mode, rows]);
}

function buildRoot(b: Bench): void {
  for (const name of readdirSync(b.base))
    if (name.startsWith('.')) rmSync(join(b.base, name), { recursive: true });
  rmSync(b.root, { recursive: true, force: true });
  mkdirSync(join(b.root, 'd'), { recursive: true });
  mkdirSync(join(b.root, 'e/sub'), { recursive: true });
  for (const name of ['d/a', 'd/b', 'd/gone', 'e/sub/x', 'top'])
    writeFileSync(join(b.root, name), 'old', { mode: 0o600 });
}

interface Outcome {
  readonly operations: number;
  readonly strikes: number;
  /** Operations at which something outside was opened or changed. */
  readonly led: readonly string[];
}

/** Restores once to count the operations of the phase, and then once for each operation that is attacked. */
async function attackPhase(phase: Phase, strategy: RestoreStrategy, naive: boolean): Promise<Outcome> {
  const top = temporaryDirectory();
  // One deeper, so that the directory that holds the root can be swapped too.
  const b = bench(undefined, join(top, 'place'));
  mkdirSync(b.base);
  const outside = join(top, 'outside');
  buildOutside(outside);
  let strikes = 0;
  const led: string[] = [];
  const strike = async (nth: number): Promise<number> => {
    buildRoot(b);
    const before = stateOf(outside);
    const disk = nodeFileSystem();
    const enemy = new EnemyFileSystem(naive ? byPath(disk) : disk, top, outside);
    enemy.target = phase;
    enemy.nth = nth;
    await restoreAndTidy(b, enemy, strategy, phase);
    strikes += enemy.strikes;
    led.push(...enemy.escapes);
    if (stateOf(outside) !== before) {
      led.push(`${phase}, operation ${nth}: changed outside`);
      rmSync(outside, { recursive: true });
      buildOutside(outside);
    }
    return enemy.operations;
  };
  const operations = await strike(0);
  const step = Math.max(1, operations / most);
  for (let at = 1; at <= operations; at += step) {
    if (naive && led.length > 0) break;
    await strike(Math.round(at));
  }
  countForCampaign('operations of restores struck', strikes);
  return { operations, strikes, led };
}

async function restoreAndTidy(
  b: Bench,
  enemy: EnemyFileSystem,
  strategy: RestoreStrategy,
  phase: Phase,
): Promise<void> {
  const ref = b.source.define({
    'd/a': { kind: 'file', content: 'one', mode: 0o600 },
    'd/fresh': { kind: 'file', content: 'f' },
    'e/sub/y': { kind: 'file', content: 'y' },
    'd/b': { kind: 'symlink', target: 'a' },
  });
  const failing: RestoreStrategy = {
    ...strategy,
    commit: async (context, state) => {
      await strategy.commit(context, state);
      if (phase === 'recovery') enemy.gone = true;
      if (phase === 'recovery' || phase === 'rollback') throw new Error('taken back');
    },
  };
  const quietly = async (work: Promise<unknown>): Promise<void> => {
    await work.catch(() => undefined);
    enemy.phase = undefined;
  };
  await quietly(
    b.restore(ref, {
      strategy: failing,
      fileSystem: enemy,
      settled: () => true,
      onConflict: 'overwrite',
      onStep: (step) => {
        enemy.phase = phaseOf[step];
      },
    }),
  );
  enemy.gone = false;
  enemy.phase = 'recovery';
  await quietly(recover(b.root, { isAlive: () => 'dead', fileSystem: enemy }));
  enemy.phase = 'sweep';
  const scan = async (path: string) => await b.source.scan(path);
  await quietly(sweepScratch(b.root, { settled: () => true, fileSystem: enemy, scan }));
}

const strategies = { reconcile: reconcile({ prune: 'exact' }), swap: swap({ fallback: false }) };

describe.each(Object.entries(strategies))('an enemy that strikes at every operation of %s', (_, strategy) => {
  it.each(phases)('in %s never leads it out', async (phase) => {
    const { operations, strikes, led } = await attackPhase(phase, strategy, false);
    expect(led).toEqual([]);
    // A strike fails only where the directory has another name by now.
    expect(strikes, `of ${operations} operations`).toBeGreaterThan(Math.min(most, operations) / 2);
  });

  it.each(phases)('in %s does lead out what works by path', async (phase) => {
    const { strikes, led } = await attackPhase(phase, strategy, true);
    expect(led.length).toBeGreaterThan(0);
    expect(strikes).toBeGreaterThan(0);
  });
});

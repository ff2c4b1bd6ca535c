import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { nodeFileSystem } from '@holdfast/durable';
import { type RestoreStrategy, reconcile, recover, swap, sweepScratch } from '@holdfast/restore';
import { afterEach, describe, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { type Bench, bench } from './support/bench.js';
import { WatchedFileSystem } from './support/forwarding.js';

const script = fileURLToPath(new URL('./fixtures/swapper.mjs', import.meta.url));
/** Anchored operations under attack, for each scenario; `HOLDFAST_RACE_ATTEMPTS` raises it. */
const attempts = Number(process.env['HOLDFAST_RACE_ATTEMPTS'] ?? 5_000);

let enemy: ChildProcessByStdio<null, Readable, null> | undefined;

afterEach(() => {
  enemy?.kill('SIGKILL');
});

async function attack(b: Bench, victims: readonly string[]): Promise<void> {
  enemy = spawn(process.execPath, [script, join(b.base, 'outside'), ...victims], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(enemy.stdout, 'data');
}

async function stopAttack(): Promise<number> {
  const running = enemy;
  enemy = undefined;
  if (running === undefined) throw new Error('there is no attack');
  const said = once(running.stdout, 'data');
  running.kill('SIGTERM');
  return Number(String((await said)[0]));
}

/** Names in the outside are those in the victim: whoever follows the link finds what it looks for. */
function buildOutside(b: Bench): string {
  const outside = join(b.base, 'outside');
  mkdirSync(outside);
  for (const name of ['a', 'b', 'gone', 'x', 'y'])
    writeFileSync(join(outside, name), 'host', { mode: 0o640 });
  return outside;
}

function outsideState(outside: string): unknown {
  return (readdirSync(outside, { recursive: true }) as string[]).sort().map((name) => {
    const { mode, ino, nlink, size } = statSync(join(outside, name));
    const isFile = statSync(join(outside, name)).isFile();
    return [name, mode, ino, nlink, size, isFile ? readFileSync(join(outside, name), 'utf8') : ''];
  });
}

function buildRoot(b: Bench): void {
  rmSync(b.root, { recursive: true, force: true });
  mkdirSync(join(b.root, 'd'), { recursive: true });
  mkdirSync(join(b.root, 'e/sub'), { recursive: true });
  for (const name of ['d/a', 'd/b', 'd/gone', 'e/sub/x', 'top'])
    writeFileSync(join(b.root, name), 'old', { mode: 0o600 });
}

/** The enemy may have the victim in its hands just now. */
function rebuild(b: Bench): void {
  for (const victim of ['d', 'e/sub']) {
    const path = join(b.root, victim);
    if (existsSync(path) || existsSync(`${path}.real`)) continue;
    try {
      mkdirSync(path, { recursive: true });
    } catch {
      continue;
    }
  }
}

/** Fails after its commit, so that every second restore is taken back under attack. */
function sometimesFailing(strategy: RestoreStrategy): RestoreStrategy {
  let turn = 0;
  return {
    ...strategy,
    commit: async (context, state) => {
      turn += 1;
      await strategy.commit(context, state);
      if (turn % 2 === 0) throw new Error('taken back');
    },
  };
}

const strategies = { reconcile: reconcile({ prune: 'exact' }), swap: swap({ fallback: false }) };

describe('an enemy that swaps directories for links', () => {
  for (const [label, strategy] of Object.entries(strategies)) {
    it(`never leads ${label}, its undo, recovery or sweep out of the root`, {
      timeout: 3_600_000,
    }, async () => {
      const watched = new WatchedFileSystem(nodeFileSystem(), () => undefined);
      const b = bench(watched);
      const outside = buildOutside(b);
      const before = outsideState(outside);
      buildRoot(b);
      const refs = [
        b.source.define({
          'd/a': { kind: 'file', content: 'one', mode: 0o600 },
          'd/fresh': { kind: 'file', content: 'f' },
          'e/sub/y': { kind: 'file', content: 'y' },
          'd/b': { kind: 'symlink', target: 'a' },
        }),
        b.source.define({
          'd/a': { kind: 'file', content: 'two', mode: 0o644 },
          'd/gone': { kind: 'directory' },
          'e/sub/x': { kind: 'file', content: 'x', mode: 0o400 },
        }),
      ];
      const kinds = new Map<string, number>();
      await attack(b, [join(b.root, 'd'), join(b.root, 'e/sub')]);
      for (let round = 0; watched.count < attempts; round += 1) {
        const kind = await b
          .restore(refs[round % 2] as never, {
            strategy: sometimesFailing(strategy),
            fileSystem: watched,
            settled: () => true,
            onConflict: round % 3 === 0 ? 'overwrite' : 'fail',
          })
          .then(
            () => 'done',
            (error: unknown) => (error as { kind?: string }).kind ?? (error as Error).name,
          );
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        const recovered = await recover(b.root, { isAlive: () => 'dead', fileSystem: watched }).catch(
          (error: unknown) => (error as { kind?: string }).kind,
        );
        await sweepScratch(b.root, {
          settled: () => true,
          fileSystem: watched,
          scan: (path) => b.source.scan(path),
        }).catch(() => undefined);
        for (const name of readdirSync(b.base)) {
          const over = recovered === 'recovery-refused' || name === '.root.backup';
          if (over && name.startsWith('.root')) rmSync(join(b.base, name), { recursive: true, force: true });
        }
        rebuild(b);
      }
      const swaps = await stopAttack();
      countForCampaign('anchored operations of restores under attack', watched.count);
      expect(outsideState(outside)).toEqual(before);
      expect(swaps).toBeGreaterThan(1_000);
      expect([...kinds.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(5);
    });
  }

  it('does lead a naive restore out, so the attack is real', async () => {
    const b = bench();
    const outside = buildOutside(b);
    const before = JSON.stringify(outsideState(outside));
    buildRoot(b);
    await attack(b, [join(b.root, 'd')]);
    let escaped = 0;
    for (let round = 0; round < 200_000 && escaped === 0; round += 1) {
      try {
        // Looks first, then writes by path: what a careful copy loop does.
        if (!statSync(join(b.root, 'd')).isDirectory()) continue;
        writeFileSync(join(b.root, 'd/a'), 'naive');
        chmodSync(join(b.root, 'd/a'), 0o600);
      } catch {
        continue;
      }
      if (JSON.stringify(outsideState(outside)) !== before) escaped += 1;
    }
    await stopAttack();
    expect(escaped).toBe(1);
  });
});

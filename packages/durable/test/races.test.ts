import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { lstat, readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
  Dir,
  type FileSystem,
  FileSystemError,
  nodeFileSystem,
  OutcomeUncertainError,
  publishFileSync,
  removeTreeSync,
  walkTreeSync,
} from '@holdfast/durable';
import { type FileSystemCall, ForwardingFileSystem } from '@holdfast/durable/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';

/** Anchored attempts per scenario; `HOLDFAST_RACE_ATTEMPTS` raises it. */
const attempts = Number(process.env['HOLDFAST_RACE_ATTEMPTS'] ?? 5_000);
/** The naive twin ends at its first escape; this many attempts without one mean that the attacker is no good. */
const naiveAttempts = 50_000;

/** Leaves out syncs: they are no part of the race and would be most of the time. */
class Unsynced extends ForwardingFileSystem {
  protected around<T>(call: FileSystemCall, run: () => T): T {
    return call.operation === 'sync' ? (undefined as T) : run();
  }
}

interface Arena {
  readonly base: string;
  readonly arena: string;
  readonly outside: string;
  readonly attacker: ChildProcess;
}

const disk: FileSystem = new Unsynced(nodeFileSystem());
let current: Arena;

beforeEach(async () => {
  const base = fs.mkdtempSync(join(fs.realpathSync(tmpdir()), 'durable-race-'));
  const arena = join(base, 'arena');
  const outside = join(base, 'outside');
  fs.mkdirSync(join(arena, 'sub'), { recursive: true });
  fs.mkdirSync(outside);
  plantCanaries(outside);
  for (const name of ['one', 'two']) fs.writeFileSync(join(arena, 'sub', name), 'inside');
  const fixture = fileURLToPath(new URL('fixtures/swapper.mjs', import.meta.url));
  const attacker = fork(fixture, [arena, outside], { stdio: 'inherit', execArgv: [] });
  await once(attacker, 'message');
  current = { base, arena, outside, attacker };
});

afterEach(async () => {
  const { attacker, base } = current;
  const reported = once(attacker, 'message');
  attacker.send('stop');
  const [report] = (await reported) as [{ readonly swaps: number }];
  await once(attacker, 'exit');
  fs.rmSync(base, { recursive: true, force: true });
  expect(report.swaps, 'the attacker did nothing').toBeGreaterThan(50);
});

function plantCanaries(outside: string): void {
  for (const name of ['canary-1', 'canary-2', 'canary-3']) fs.writeFileSync(join(outside, name), 'outside');
}

const canaries = (): number =>
  fs.readdirSync(current.outside).filter((name) => name.startsWith('canary')).length;

type Outcome = 'enough' | undefined;

/** Runs attempts until one says it is enough; a refusal by the system is an outcome, an escape is counted by the caller. */
async function attack(count: number, attempt: (index: number) => Outcome | Promise<Outcome>): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    try {
      const outcome = attempt(index);
      if ((outcome instanceof Promise ? await outcome : outcome) === 'enough') return;
    } catch (error) {
      if (!FileSystemError.is(error) && !OutcomeUncertainError.is(error) && !isSystemError(error))
        throw error;
    }
    if (index % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
  }
}

// What fails in the naive twins fails because the attacker was there.
const isSystemError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;

describe('a walk that reads, under attack', () => {
  it('never sees or reads anything outside', async () => {
    const escaped = new Set<string>();
    let read = 0;
    await attack(attempts, () => {
      using root = Dir.openRoot(disk, current.arena);
      walkTreeSync(root, {
        visit: ({ dir, name, stat }) => {
          const text = Buffer.from(name).toString();
          if (text.startsWith('canary')) escaped.add(`saw ${text}`);
          if (stat.kind !== 'file') return undefined;
          using file = dir.openFile(name);
          if (Buffer.from(file.readAll({ maxBytes: 100 })).toString() !== 'inside')
            escaped.add(`read ${text}`);
          read += 1;
          return undefined;
        },
        failed: () => undefined,
      });
      return undefined;
    });
    countForCampaign('anchored operations of walks under attack', attempts);
    expect([...escaped]).toEqual([]);
    expect(read, 'nothing was read at all').toBeGreaterThan(20);
  });

  it('would without anchoring', async () => {
    let escapes = 0;
    await attack(naiveAttempts, async () => {
      const directory = join(current.arena, 'sub');
      if (!(await lstat(directory)).isDirectory()) return undefined;
      for (const name of await readdir(directory)) {
        if ((await readFile(join(directory, name), 'utf8')) === 'outside') escapes += 1;
      }
      return escapes > 0 ? 'enough' : undefined;
    });
    expect(escapes).toBeGreaterThan(0);
  });
});

describe('publishing, under attack', () => {
  it('never creates anything outside', async () => {
    let published = 0;
    await attack(attempts, (index) => {
      using root = Dir.openRoot(disk, current.arena);
      using dir = root.openDir('sub');
      publishFileSync(dir, `file-${index % 8}`, Buffer.from('inside'), { exclusive: index % 2 === 0 });
      published += 1;
      return undefined;
    });
    countForCampaign('anchored operations of publishing under attack', attempts);
    expect(fs.readdirSync(current.outside).sort()).toEqual(['canary-1', 'canary-2', 'canary-3']);
    expect(published, 'nothing was published at all').toBeGreaterThan(20);
  });

  it('would without anchoring', async () => {
    let escapes = 0;
    await attack(naiveAttempts, async (index) => {
      const directory = join(current.arena, 'sub');
      if (!(await lstat(directory)).isDirectory()) return undefined;
      await writeFile(join(directory, `file-${index % 8}`), 'inside');
      escapes = fs.readdirSync(current.outside).length - 3;
      return escapes > 0 ? 'enough' : undefined;
    });
    expect(escapes).toBeGreaterThan(0);
  });
});

describe('deletion, under attack', () => {
  const plantVictim = (): void => {
    const sub = join(current.arena, 'victim', 'sub');
    fs.mkdirSync(sub, { recursive: true });
    for (const name of ['one', 'two', 'three']) fs.writeFileSync(join(sub, name), 'inside');
  };

  it('never deletes anything outside', async () => {
    let removed = 0;
    using root = Dir.openRoot(disk, current.arena);
    // A deletion is at least five anchored operations.
    await attack(attempts / 5, () => {
      plantVictim();
      if (removeTreeSync(root, 'victim')) removed += 1;
      return undefined;
    });
    countForCampaign('anchored operations of deletions under attack', attempts);
    expect(canaries()).toBe(3);
    expect(removed, 'nothing was removed at all').toBeGreaterThan(20);
  });

  it('would by path', async () => {
    let escapes = 0;
    await attack(naiveAttempts, async () => {
      plantVictim();
      // As recursive removal is usually written: look, then go in by path.
      const sub = join(current.arena, 'victim', 'sub');
      if (!(await lstat(sub)).isDirectory()) return undefined;
      for (const name of await readdir(sub)) await unlink(join(sub, name));
      escapes += 3 - canaries();
      return escapes > 0 ? 'enough' : undefined;
    });
    expect(escapes).toBeGreaterThan(0);
  });
});

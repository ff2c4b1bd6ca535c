import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquireHostLock, HostLockHeldError } from '@holdfast/lease/fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-lock-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe.each(['linux', 'darwin'] as const)('acquireHostLock as on %s', (platform) => {
  it('is exclusive, is free after its release, and different paths are independent', async () => {
    const path = join(directory, 'root');
    const first = await acquireHostLock(path, { platform });
    await expect(acquireHostLock(path, { platform })).rejects.toSatisfy((error) =>
      HostLockHeldError.is(error),
    );
    const other = await acquireHostLock(join(directory, 'other'), { platform });
    await other[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    const second = await acquireHostLock(path, { platform });
    await second[Symbol.asyncDispose]();
  });

  it('waits for the holder when asked, and an abort ends the wait with its reason', async () => {
    const path = join(directory, 'root');
    const first = await acquireHostLock(path, { platform });
    const controller = new AbortController();
    const aborted = acquireHostLock(path, { platform, wait: true, signal: controller.signal });
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    const waiting = acquireHostLock(path, { platform, wait: true });
    await first[Symbol.asyncDispose]();
    await (await waiting)[Symbol.asyncDispose]();
  });
});

describe.runIf(process.platform === 'linux')('a killed or stopped holder', () => {
  it('keeps the lock while stopped, loses it when killed, and nothing was written', async () => {
    const path = join(directory, 'root');
    const fixture = new URL('./fixtures/hold-host-lock.mjs', import.meta.url).pathname;
    const child = spawn(process.execPath, [fixture, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const closed = new Promise((resolve) => child.once('close', resolve));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGSTOP');
    await expect(acquireHostLock(path)).rejects.toSatisfy((error) => HostLockHeldError.is(error));
    child.kill('SIGKILL');
    await closed;
    await (await acquireHostLock(path))[Symbol.asyncDispose]();
    expect(readdirSync(directory)).toEqual([]);
  });
});

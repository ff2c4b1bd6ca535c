import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { findCause } from '@holdfast/base';
import { FileSystemError } from '@holdfast/durable';
import type { Lease } from '@holdfast/lease';
import { openFsLeaser } from '@holdfast/lease/fs';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';

import { diskFailure, latch, scaledClock, ttl, type View, World } from './fs-world.js';
import { temporaryDirectory } from './temporary-directory.js';

const temporary = temporaryDirectory();
let world: World;
beforeEach(() => {
  world = new World(temporary.make());
});
afterEach(async () => {
  await world.close();
});
afterAll(() => {
  temporary.remove();
});

describe('opening', () => {
  it('makes the directory, private, and reports it without symlinks', async () => {
    const base = temporary.make();
    symlinkSync(base, join(base, 'alias'));
    await using leaser = await openFsLeaser(join(base, 'alias', 'deep', 'leases'));
    expect(leaser.storagePaths()).toEqual([join(base, 'deep', 'leases')]);
    expect(leaser.supports).toEqual({ scope: 'host', durable: true });
    expect(statSync(join(base, 'deep', 'leases')).mode & 0o777).toBe(0o700);
  });

  it('refuses a directory that cannot be one', async () => {
    const base = temporary.make();
    writeFileSync(join(base, 'file'), '');
    const failure = openFsLeaser(join(base, 'file', 'below'));
    await expect(failure).rejects.toMatchObject({
      code: 'LEASE_BACKEND',
      operation: 'open',
      retryable: false,
    });
    expect(findCause(await failure.catch((error: unknown) => error), FileSystemError)?.errno).toBe('ENOTDIR');
  });

  it.each([
    { ttl: 99 },
    { ttl: Number.NaN },
    { ttl: 86_400_001 },
    { pollInterval: 0 },
    { pollInterval: 60_001 },
    { scope: 'fleet' as 'host' },
  ])('refuses %o', async (options) => {
    await expect(openFsLeaser(temporary.make(), options)).rejects.toThrow(RangeError);
  });
});

describe('the files', () => {
  it('are one directory per lease and one private file per epoch, older ones deleted', async () => {
    const { leaser } = await world.view();
    for (let round = 0; round < 3; round += 1) await (await leaser.acquire('a/b')).release();
    const lease = await leaser.acquire('a/b', { owner: { title: 'x' } });
    expect(world.files('a/b')).toEqual(['0000000000000004']);
    expect(statSync(join(world.pathOf('a/b'), '0000000000000004')).mode & 0o777).toBe(0o600);
    const [state, record, sum, rest] = world.text('a/b', 4).split('\n');
    expect(state).toMatch(/^holdfast-lease\/1 held {5}[0-9a-f]{16}$/);
    expect(JSON.parse(record ?? '')).toMatchObject({ name: 'a/b', epoch: 4, owner: { title: 'x' }, ttl });
    expect(sum).toMatch(/^[0-9a-f]{64}$/);
    expect(rest).toBe('');
    await lease.release();
    expect(world.text('a/b', 4)).toMatch(/^holdfast-lease\/1 released [0-9a-f]{16}\n/);
  });

  it('leave nothing behind of claims that were interrupted, once their number is taken', async () => {
    const { leaser } = await world.view();
    await (await leaser.acquire('a')).release();
    for (const name of [
      '.holdfast-tmp-lease-2-0123456789abcdef',
      '.holdfast-tmp-lease-9-0123456789abcdef',
      'note',
    ]) {
      writeFileSync(join(world.pathOf('a'), name), 'left by a crash');
    }
    await leaser.acquire('a');
    expect(world.files('a')).toEqual(['.holdfast-tmp-lease-9-0123456789abcdef', '0000000000000002', 'note']);
  });

  it('that are none of ours are not counted', async () => {
    const { leaser } = await world.view();
    await (await leaser.acquire('a')).release();
    for (const name of ['0000000000000000', '9999999999999999', '00000000000000007', 'x000000000000003']) {
      writeFileSync(join(world.pathOf('a'), name), '');
    }
    expect((await leaser.acquire('a')).epoch).toBe(2);
  });

  it('of a later version are refused, as what they are', async () => {
    const { leaser } = await world.view();
    await (await leaser.acquire('a')).release();
    writeFileSync(join(world.pathOf('a'), '0000000000000002'), 'holdfast-lease/2 something else entirely\n');
    const failure: unknown = await leaser.acquire('a').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'LEASE_BACKEND' });
    expect(String((failure as Error).cause)).toMatch(/format 2, this version reads format 1/);
  });
});

describe('a record that cannot be read', () => {
  it.each([
    ['empty', () => ''],
    ['cut short', (text: string) => text.slice(0, -10)],
    ['changed in its record', (text: string) => text.replace('"epoch":1', '"epoch":7')],
    ['changed in its magic', (text: string) => text.replace('holdfast', 'heldfast')],
    ['of an unknown state', (text: string) => text.replace('held    ', 'unheard.')],
    ['much too long', (text: string) => text + ' '.repeat(20_000)],
  ])('(%s) is held until it has stood still for a whole time-to-live', async (_, damage) => {
    const first = await world.view();
    const lease = await first.leaser.acquire('a');
    const file = join(world.pathOf('a'), '0000000000000001');
    writeFileSync(file, damage(world.text('a', 1)));
    world.fates.set(first.pid, 'unknown');
    const second = await world.view();
    await expect(second.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: 1 });
    await second.clock.advance(ttl - 1);
    await expect(second.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await second.clock.advance(1);
    expect((await second.leaser.acquire('a')).epoch).toBe(2);
    await expect(lease.check()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('is still kept alive by the heartbeat of its holder', async () => {
    const [first, second] = [await world.view(), await world.view()];
    const lease = await first.leaser.acquire('a');
    const file = join(world.pathOf('a'), '0000000000000001');
    // Through another inode it would be somebody else's file; in place it is the holder's own.
    writeFileSync(file, world.text('a', 1).replace('"owner"', '"Owner"'), { flag: 'r+' });
    for (let round = 0; round < 6; round += 1) {
      await expect(second.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD' });
      await first.clock.advance(ttl / 2);
      await second.clock.advance(ttl / 2);
    }
    await lease.check();
  });

  it('that is a directory is treated the same', async () => {
    const view = await world.view();
    await (await view.leaser.acquire('a')).release();
    mkdirSync(join(world.pathOf('a'), '0000000000000002'));
    await expect(view.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: 2 });
    await view.clock.advance(ttl);
    expect((await view.leaser.acquire('a')).epoch).toBe(3);
  });
});

describe('a holder whose life cannot be judged', () => {
  let first: View;
  let second: View;
  let lease: Lease;
  const overtake = async (): Promise<Lease> => {
    await second.leaser.acquire('a').catch(() => undefined);
    await second.clock.advance(ttl);
    return await second.leaser.acquire('a');
  };
  beforeEach(async () => {
    [first, second] = [await world.view(), await world.view()];
    lease = await first.leaser.acquire('a');
    world.fates.set(first.pid, 'unknown');
  });

  it('keeps its lease as long as it renews, although the clocks run at different speeds', async () => {
    const fast = await world.view();
    const rates = [0.7, 1, 1.4];
    const views = await Promise.all(
      rates.map(async (rate) => await world.view({ clock: scaledClock(fast.clock, rate) })),
    );
    for (let step = 0; step < 60; step += 1) {
      await first.clock.advance(100);
      await fast.clock.advance(100);
      for (const { leaser } of views) {
        await expect(leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: 1 });
      }
    }
    expect(lease.held).toBe(true);
  });

  it('is overtaken after a whole time-to-live without a renewal, and learns it', async () => {
    const next = await overtake();
    expect(next.epoch).toBe(2);
    expect(lease.held).toBe(true);
    await first.clock.advance(ttl / 3);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', kind: 'taken-over', epoch: 1 });
    await next.check();
  });

  it('has given its lease up by the time at which a clock half as fast again lets others in', async () => {
    first.disturb.before = (operation) => {
      throw diskFailure(operation);
    };
    await first.clock.advance((ttl * 2) / 3);
    expect(lease.signal.reason).toMatchObject({ kind: 'self-fenced' });
    expect(findCause(lease.signal.reason, FileSystemError)?.errno).toBe('EIO');
    expect(lease.expiresIn()).toBe(0);
  });

  it('survives renewals that fail for a while', async () => {
    first.disturb.before = (operation) => {
      throw diskFailure(operation);
    };
    await first.clock.advance(ttl / 3 + ttl / 12);
    first.disturb.before = undefined;
    await first.clock.advance(ttl * 3);
    expect(lease.held).toBe(true);
    await lease.check();
  });

  it("does not look at anybody's wall clock", async () => {
    await second.leaser.acquire('a').catch(() => undefined);
    for (const jump of [3_600_000, -7_200_000, 1e12]) {
      first.clock.jumpWall(jump);
      second.clock.jumpWall(-jump);
      await expect(second.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD' });
      expect(lease.held).toBe(true);
      expect(lease.expiresIn()).toBeGreaterThan(0);
    }
  });

  it('counts on nothing after a sleep of the machine until it has looked', async () => {
    // Its clock stood still; the others waited.
    const next = await overtake();
    expect(lease.expiresIn()).toBeGreaterThan(0);
    await expect(lease.check()).rejects.toMatchObject({ code: 'LEASE_LOST', kind: 'taken-over' });
    await next.check();
  });

  it('shuts out by a single check whoever has waited for a whole time-to-live', async () => {
    await second.leaser.acquire('a').catch(() => undefined);
    await second.clock.advance(ttl);
    await lease.check();
    await expect(second.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: 1 });
  });

  it('that stirs while it is being overtaken keeps its lease', async () => {
    await second.leaser.acquire('a').catch(() => undefined);
    await second.clock.advance(ttl);
    const [reached, goOn] = [latch(), latch()];
    second.disturb.beforeSync = async () => {
      reached.open();
      await goOn.opened;
    };
    const overtaking = second.leaser.acquire('a');
    await reached.opened;
    await lease.check();
    goOn.open();
    await expect(overtaking).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: 1 });
    await lease.check();
    expect(world.files('a')).toEqual(['0000000000000001']);
  });

  it('is not free when the one who was overtaking it dies on the way', async () => {
    await second.leaser.acquire('a').catch(() => undefined);
    await second.clock.advance(ttl);
    const [reached, goOn] = [latch(), latch()];
    let linked = false;
    second.disturb.before = (operation) => {
      if (operation === 'link') linked = true;
    };
    second.disturb.beforeSync = async () => {
      if (!linked) return;
      reached.open();
      await goOn.opened;
    };
    const dying = second.leaser.acquire('a');
    await reached.opened;
    world.fates.set(second.pid, 'dead');
    expect(world.text('a', 2)).toMatch(/^holdfast-lease\/1 claiming /);
    const third = await world.view();
    await expect(third.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: 2 });
    await third.clock.advance(ttl);
    expect((await third.leaser.acquire('a')).epoch).toBe(3);
    // What it would do if it were not dead after all: find out.
    goOn.open();
    await expect(dying).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: 3 });
  });

  it('does not renew in scope "process" and is then never overtaken', async () => {
    const modest = await world.view({ scope: 'process' });
    const held = await modest.leaser.acquire('b');
    expect(modest.leaser.supports.scope).toBe('process');
    expect(held.expiresIn()).toBe(Number.POSITIVE_INFINITY);
    expect(modest.clock.pending).toBe(0);
    world.fates.set(modest.pid, 'unknown');
    await second.leaser.acquire('b').catch(() => undefined);
    await second.clock.advance(ttl * 10);
    await expect(second.leaser.acquire('b')).rejects.toMatchObject({ code: 'LEASE_HELD' });
    world.fates.set(modest.pid, 'dead');
    expect((await second.leaser.acquire('b')).epoch).toBe(2);
  });
});

describe('a holder on the same host', () => {
  it('is not overtaken however long it is stopped, and goes on afterwards', async () => {
    const [first, second] = [await world.view(), await world.view()];
    const lease = await first.leaser.acquire('a');
    for (let round = 0; round < 5; round += 1) {
      await expect(second.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD' });
      await second.clock.advance(ttl * 2);
    }
    await first.clock.advance(ttl * 10);
    expect(lease.held).toBe(true);
    await lease.check();
  });

  it('is overtaken at once when it is dead', async () => {
    const [first, second] = [await world.view(), await world.view()];
    await first.leaser.acquire('a');
    const waiting = second.leaser.acquire('a', { wait: true });
    world.fates.set(first.pid, 'dead');
    await second.clock.advance(100);
    expect((await waiting).epoch).toBe(2);
  });

  it('notices that its directory was deleted or replaced', async () => {
    const { leaser, clock } = await world.view();
    const [deleted, replaced, rewritten] = [
      await leaser.acquire('deleted'),
      await leaser.acquire('replaced'),
      await leaser.acquire('rewritten'),
    ];
    rmSync(world.pathOf('deleted'), { recursive: true });
    await expect(deleted.check()).rejects.toMatchObject({ kind: 'self-fenced' });
    renameSync(world.pathOf('replaced'), `${world.pathOf('replaced')}.old`);
    mkdirSync(world.pathOf('replaced'));
    await clock.advance(ttl / 3);
    expect(replaced.signal.reason).toMatchObject({ kind: 'self-fenced' });
    const file = join(world.pathOf('rewritten'), '0000000000000001');
    const text = world.text('rewritten', 1);
    rmSync(file);
    writeFileSync(file, text);
    await expect(rewritten.check()).rejects.toMatchObject({ kind: 'self-fenced' });
    rmSync(world.directory, { recursive: true });
    await expect(leaser.acquire('x')).rejects.toMatchObject({ code: 'LEASE_BACKEND' });
  });

  it('leaves no timer behind', async () => {
    const { leaser, clock } = await world.view();
    const lease = await leaser.acquire('a');
    expect(clock.pending).toBe(1);
    await lease.release();
    expect(clock.pending).toBe(0);
    const aborted = new AbortController();
    const held = await leaser.acquire('a');
    const waiting = leaser.acquire('a', { wait: true, signal: aborted.signal });
    await clock.advance(500);
    aborted.abort(new Error('enough'));
    await expect(waiting).rejects.toBe(aborted.signal.reason);
    await held.release();
    expect(clock.pending).toBe(0);
    await leaser.acquire('b');
    await leaser.close();
    expect(clock.pending).toBe(0);
  });
});

describe('a claim', () => {
  it('whose number was used up and deleted since it listed is given up', async () => {
    const [sleeper, busy] = [await world.view(), await world.view()];
    await (await busy.leaser.acquire('a')).release();
    const path = world.pathOf('a');
    const before = world.text('a', 1);
    const holder = await busy.leaser.acquire('a', { above: 4 });
    // Back to the state that the sleeper lists, and forward again while it sleeps, before it makes its claim.
    renameSync(join(path, '0000000000000005'), join(path, 'later'));
    writeFileSync(join(path, '0000000000000001'), before);
    const files: string[][] = [];
    sleeper.disturb.before = (operation) => {
      if (operation === 'createFile') {
        rmSync(join(path, '0000000000000001'));
        renameSync(join(path, 'later'), join(path, '0000000000000005'));
      }
      if (operation === 'readdir') files.push(world.files('a'));
    };
    await expect(sleeper.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: 5 });
    expect(files.some((names) => names.includes('0000000000000002'))).toBe(true);
    await holder.check();
    expect(world.files('a')).toEqual(['0000000000000005']);
  });

  it('whose temporary file was swept by later holders is given up', async () => {
    const [sleeper, busy] = [await world.view(), await world.view()];
    await (await busy.leaser.acquire('a')).release();
    const [reached, goOn] = [latch(), latch()];
    sleeper.disturb.beforeSync = async () => {
      reached.open();
      await goOn.opened;
    };
    const late = sleeper.leaser.acquire('a');
    await reached.opened;
    for (let round = 0; round < 3; round += 1) await (await busy.leaser.acquire('a')).release();
    const holder = await busy.leaser.acquire('a');
    expect(world.files('a').filter((name) => name.startsWith('0'))).toEqual(['0000000000000005']);
    goOn.open();
    await expect(late).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: 5 });
    await holder.check();
    expect(world.files('a')).toEqual(['0000000000000005']);
  });

  it('that is aborted after its link is taken back', async () => {
    const [first, second] = [await world.view(), await world.view()];
    const aborted = new AbortController();
    const reason = new Error('too late');
    first.disturb.before = (operation) => {
      if (operation === 'link') aborted.abort(reason);
    };
    await expect(first.leaser.acquire('a', { signal: aborted.signal })).rejects.toBe(reason);
    expect((await second.leaser.acquire('a')).held).toBe(true);
  });

  it('raises its epoch only as the holder, so that it cannot hurt a faster one', async () => {
    const [slow, fast] = [await world.view(), await world.view()];
    const [reached, goOn] = [latch(), latch()];
    slow.disturb.beforeSync = async () => {
      reached.open();
      await goOn.opened;
    };
    const raised = slow.leaser.acquire('a', { above: 50 });
    await reached.opened;
    const lease = await fast.leaser.acquire('a');
    goOn.open();
    await expect(raised).rejects.toMatchObject({ code: 'LEASE_HELD', holderEpoch: lease.epoch });
    await lease.check();
    await lease.release();
    expect((await slow.leaser.acquire('a', { above: 50 })).epoch).toBe(51);
    expect(world.files('a')).toEqual(['0000000000000051']);
  });

  it.each(['openRoot', 'mkdir', 'createFile', 'write', 'syncLater', 'link', 'unlink', 'readdir', 'lstat'])(
    'leaves the name free when %s fails, at whichever call',
    async (operation) => {
      for (let call = 0, done = false; !done; call += 1) {
        const name = `n${call}`;
        const [first, second] = [await world.view(), await world.view()];
        let calls = 0;
        first.disturb.before = (called) => {
          if (called !== operation) return;
          if (calls === call) {
            calls += 1;
            throw diskFailure(called);
          }
          calls += 1;
        };
        const lease = await first.leaser.acquire(name, { above: 7 }).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'LEASE_BACKEND', operation: 'acquire' });
        });
        done = calls <= call;
        first.disturb.before = undefined;
        await lease?.release();
        const next = await second.leaser.acquire(name);
        expect(next.held).toBe(true);
      }
    },
  );

  it('says what is missing when the file system has no hard links', async () => {
    const { leaser, disturb } = await world.view();
    disturb.before = (operation) => {
      if (operation === 'link') throw diskFailure('link', 'EPERM');
    };
    const failure: unknown = await leaser.acquire('a').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'LEASE_BACKEND' });
    expect((failure as Error).cause).toMatchObject({ code: 'DURABLE_LINKS_UNSUPPORTED' });
  });
});

describe('giving back', () => {
  it('can be tried again when the disk refused it', async () => {
    const [first, second] = [await world.view(), await world.view()];
    const lease = await first.leaser.acquire('a');
    first.disturb.before = (operation) => {
      throw diskFailure(operation);
    };
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_BACKEND', operation: 'release' });
    expect(lease.held).toBe(false);
    first.disturb.before = undefined;
    await expect(second.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await lease.release();
    expect((await second.leaser.acquire('a')).epoch).toBe(2);
  });

  it('works although a sync has failed for good', async () => {
    const [first, second] = [await world.view(), await world.view()];
    const lease = await first.leaser.acquire('a');
    first.disturb.beforeSync = async () => await Promise.reject(diskFailure('fsync'));
    await first.clock.advance(ttl / 3);
    first.disturb.beforeSync = undefined;
    await first.clock.advance(ttl);
    expect(lease.signal.reason).toMatchObject({ kind: 'self-fenced' });
    expect((await second.leaser.acquire('a')).epoch).toBe(2);
  });

  it('of a lease that was lost in an outage is made up for later', async () => {
    const [first, second] = [await world.view(), await world.view()];
    const lease = await first.leaser.acquire('a');
    first.disturb.before = (operation) => {
      throw diskFailure(operation);
    };
    await first.clock.advance(ttl);
    expect(lease.signal.reason).toMatchObject({ kind: 'self-fenced' });
    first.disturb.before = undefined;
    await expect(second.leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await first.leaser.acquire('other');
    expect((await second.leaser.acquire('a')).epoch).toBe(2);
  });
});

describe('waiting', () => {
  it('is woken by the disk, not only by the clock', async () => {
    const directory = temporary.make();
    await using first = await openFsLeaser(directory, { pollInterval: 60_000 });
    await using second = await openFsLeaser(directory, { pollInterval: 60_000 });
    const lease = await first.acquire('a');
    const waiting = second.acquire('a', { wait: true });
    // The hint may come a moment after the watch was asked for, so the release is not the only event.
    await expect(second.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await lease.release();
    expect((await waiting).epoch).toBe(2);
  });

  it('ends with what went wrong when the disk fails', async () => {
    const [first, second] = [await world.view(), await world.view()];
    await first.leaser.acquire('a');
    const waiting = second.leaser.acquire('a', { wait: true });
    await second.clock.advance(100);
    second.disturb.before = (operation) => {
      throw diskFailure(operation);
    };
    const outcome = expect(waiting).rejects.toMatchObject({ code: 'LEASE_BACKEND', operation: 'wait' });
    await second.clock.advance(100);
    await outcome;
  });
});

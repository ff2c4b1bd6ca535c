import { findCause } from '@holdfast/base';
import {
  isLeaseError,
  type LeaseGrant,
  LeaseHeldError,
  LeaseLostError,
  Leaser,
  LeaserBackendError,
  LeaserClosedError,
  type LeaserDriver,
  MemoryLeaserDriver,
  MemoryLeases,
  memoryLeaser,
  prefixedLeaser,
} from '@holdfast/lease';
import { describe, expect, it } from 'vitest';

/** A driver whose answers a test chooses. */
function driverOf(replaced: Partial<LeaserDriver> = {}): LeaserDriver {
  return {
    contract: 'lease/1',
    supports: Object.freeze({ scope: 'fleet', durable: true }),
    storagePaths: () => [],
    acquire: async () => await Promise.resolve(grantOf()),
    changed: async () => await Promise.resolve(),
    close: async () => await Promise.resolve(),
    ...replaced,
  };
}

function grantOf(replaced: Partial<LeaseGrant> = {}): LeaseGrant {
  return {
    epoch: 1,
    lost: new AbortController().signal,
    expiresIn: () => 1000,
    check: async () => await Promise.resolve(true),
    release: async () => await Promise.resolve(),
    ...replaced,
  };
}

describe('the portable class', () => {
  it('refuses a driver of another contract', () => {
    expect(() => new Leaser({ ...driverOf(), contract: 'lease/2' as 'lease/1' })).toThrow(
      new TypeError('Leaser: the driver implements "lease/2", this class needs "lease/1"'),
    );
    expect(() => new Leaser(undefined as never)).toThrow(TypeError);
  });

  it('wraps what a driver throws once, with operation, name and what it says about retries', async () => {
    const cause = Object.assign(new Error('503'), { retryable: true });
    const leaser = new Leaser(driverOf({ acquire: async () => await Promise.reject(cause) }));
    const error: unknown = await leaser.acquire('a').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'LEASE_BACKEND',
      operation: 'acquire',
      leaseName: 'a',
      retryable: true,
      cause,
    });
    const twice = new Leaser(driverOf({ acquire: async () => await Promise.reject(error) }));
    await expect(twice.acquire('a')).rejects.toBe(error);
  });

  it.each([0, -1, 1.5, 2 ** 53, Number.NaN])(
    'does not believe epoch %s, and gives the grant back',
    async (epoch) => {
      let released = 0;
      const release = async (): Promise<void> => {
        released += 1;
        await Promise.reject(new Error('does not matter'));
      };
      const leaser = new Leaser(
        driverOf({ acquire: async () => await Promise.resolve(grantOf({ epoch, release })) }),
      );
      await expect(leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_BACKEND', retryable: false });
      expect(released).toBe(1);
    },
  );

  it('gives back what a driver that does not listen granted after an abort', async () => {
    let released = 0;
    const controller = new AbortController();
    const reason = new Error('enough');
    const leaser = new Leaser(
      driverOf({
        acquire: async () => {
          controller.abort(reason);
          return await Promise.resolve(
            grantOf({
              release: async () => {
                released += 1;
                await Promise.resolve();
              },
            }),
          );
        },
      }),
    );
    await expect(leaser.acquire('a', { signal: controller.signal })).rejects.toBe(reason);
    expect(released).toBe(1);
  });

  it('gives every loss its own name and kind', async () => {
    const lost = new AbortController();
    const leaser = new Leaser(
      driverOf({ acquire: async () => await Promise.resolve(grantOf({ lost: lost.signal })) }),
    );
    const lease = await leaser.acquire('a');
    const cause = new Error('something of the driver');
    lost.abort(cause);
    expect(lease.signal.reason).toMatchObject({
      code: 'LEASE_LOST',
      leaseName: 'a',
      kind: 'self-fenced',
      cause,
    });
    expect(lease.expiresIn()).toBe(0);
    await expect(lease.check()).rejects.toBe(lease.signal.reason);
  });

  it('reports a failed release, and lets it be tried again', async () => {
    let attempts = 0;
    const release = async (): Promise<void> => {
      attempts += 1;
      await (attempts === 1 ? Promise.reject(new Error('unplugged')) : Promise.resolve());
    };
    const leaser = new Leaser(driverOf({ acquire: async () => await Promise.resolve(grantOf({ release })) }));
    const lease = await leaser.acquire('a');
    const [first, second] = await Promise.allSettled([lease.release(), lease.release()]);
    expect(first).toMatchObject({
      status: 'rejected',
      reason: { code: 'LEASE_BACKEND', operation: 'release' },
    });
    expect(second).toEqual(first);
    expect(lease.held).toBe(false);
    await lease.release();
    await lease.release();
    expect(attempts).toBe(2);
  });

  it('closes the driver whatever its leases do, and reports every failure', async () => {
    let closed = false;
    const release = async (): Promise<void> => await Promise.reject(new Error('unplugged'));
    const leaser = new Leaser(
      driverOf({
        acquire: async () => await Promise.resolve(grantOf({ release })),
        close: async () => {
          closed = true;
          await Promise.reject(new Error('unplugged as well'));
        },
      }),
    );
    await leaser.acquire('a');
    const error: unknown = await leaser.close().catch((thrown: unknown) => thrown);
    expect(closed).toBe(true);
    expect(error).toBeInstanceOf(AggregateError);
    expect(findCause(error, LeaserBackendError)).toMatchObject({ operation: 'release' });
    await expect(leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_CLOSED' });
  });

  it('does not stop the world for a driver that says "changed" and "held" for ever', async () => {
    const leaser = new Leaser(
      driverOf({ acquire: async () => await Promise.reject(new LeaseHeldError('a', 1)) }),
    );
    const controller = new AbortController();
    const waiting = leaser.acquire('a', { wait: true, signal: controller.signal });
    const reason = new Error('enough');
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it('has any number of waiters without a warning of the platform', async () => {
    const warnings: string[] = [];
    const note = (warning: Error): void => {
      warnings.push(warning.name);
    };
    process.on('warning', note);
    const leaser = memoryLeaser();
    const names = Array.from({ length: 30 }, (_, index) => `n${index}`);
    for (const name of names) await leaser.acquire(name);
    const waiting = names.flatMap((name) => [
      leaser.acquire(name, { wait: true }),
      leaser.acquire(name, { wait: true }),
    ]);
    const outcomes = Promise.allSettled(waiting);
    await new Promise((resolve) => setImmediate(resolve));
    await leaser.close();
    expect((await outcomes).every(({ status }) => status === 'rejected')).toBe(true);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('passes on what the driver declares, as lists of its own', () => {
    const leaser = new Leaser(driverOf({ storagePaths: () => Object.freeze(['/x']) }));
    (leaser.storagePaths() as string[]).push('/y');
    expect(leaser.storagePaths()).toEqual(['/x']);
    expect(leaser.supports).toEqual({ scope: 'fleet', durable: true });
  });
});

describe('the memory driver', () => {
  it('tells the holder about an expiry, and silently expired holders when they check', async () => {
    const leases = new MemoryLeases();
    const leaser = memoryLeaser({ leases });
    const told = await leaser.acquire('a', { owner: { title: 'first' } });
    expect(leases.holder('a')).toMatchObject({ epoch: 1, owner: { title: 'first' } });
    expect(leases.expire('a', { kind: 'taken-over' })).toBe(true);
    expect(leases.expire('a')).toBe(false);
    expect(told.signal.reason).toMatchObject({ code: 'LEASE_LOST', kind: 'taken-over' });
    const untold = await leaser.acquire('a');
    leases.expire('a', { silently: true });
    expect(untold.held).toBe(true);
    const next = await leaser.acquire('a');
    await expect(untold.check()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await untold.release();
    await next.check();
    expect(leases.epoch('a')).toBe(3);
    expect(leases.epoch('never')).toBe(0);
  });

  it('is strict when it is called without the portable class', async () => {
    const driver = new MemoryLeaserDriver(new MemoryLeases());
    const options = { owner: {}, above: 0 };
    await expect(driver.acquire('NOT LEGAL', options)).rejects.toMatchObject({ code: 'BASE_INVALID_NAME' });
    const grant = await driver.acquire('a', options);
    await driver.close();
    expect(grant.lost.reason).toMatchObject({ kind: 'closed' });
    await expect(driver.acquire('a', options)).rejects.toMatchObject({ code: 'LEASE_CLOSED' });
    const { signal } = new AbortController();
    await expect(driver.changed('a', { signal })).rejects.toMatchObject({ code: 'LEASE_CLOSED' });
  });
});

describe('a view with a prefix', () => {
  it('keeps its names apart and leaves the leaser below open', async () => {
    const leaser = memoryLeaser();
    const [one, two] = [prefixedLeaser(leaser, 'one'), prefixedLeaser(leaser, 'two/deep')];
    const lease = await one.acquire('a');
    expect((await two.acquire('a')).epoch).toBe(1);
    expect(lease.name).toBe('a');
    await expect(leaser.acquire('one/a')).rejects.toMatchObject({ leaseName: 'one/a' });
    await expect(one.acquire('a')).rejects.toMatchObject({ leaseName: 'a', holderEpoch: 1 });
    await one.close();
    expect(lease.signal.reason).toMatchObject({ kind: 'closed', leaseName: 'a' });
    expect((await leaser.acquire('one/a')).epoch).toBe(2);
  });

  it('refuses names that get too long, and prefixes that are none', async () => {
    const leaser = memoryLeaser();
    expect(() => prefixedLeaser(leaser, 'one/')).toThrow(
      expect.objectContaining({ code: 'BASE_INVALID_NAME' }) as Error,
    );
    const view = prefixedLeaser(leaser, 'one');
    await expect(view.acquire('x'.repeat(509))).rejects.toMatchObject({
      code: 'BASE_INVALID_NAME',
      rule: 'too-long',
    });
    expect((await view.acquire('x'.repeat(508))).held).toBe(true);
  });

  it('tells losses of the leaser below in its own words', async () => {
    const leases = new MemoryLeases();
    const view = prefixedLeaser(memoryLeaser({ leases }), 'one');
    const lease = await view.acquire('a');
    leases.expire('one/a');
    expect(lease.signal.reason).toMatchObject({
      leaseName: 'a',
      kind: 'expired',
      cause: { leaseName: 'one/a' },
    });
  });
});

describe('errors', () => {
  it('are known by their class and code, with one line that says what to do', () => {
    const errors = [
      new LeaseHeldError('a', 7, { title: 'me' }),
      new LeaseHeldError('a', 7),
      ...(['released', 'expired', 'taken-over', 'self-fenced', 'closed'] as const).map(
        (kind) => new LeaseLostError('a', 7, kind),
      ),
      new LeaserClosedError(),
      new LeaserBackendError('acquire', 'a', { cause: new Error('x') }),
      new LeaserBackendError('open', undefined),
    ];
    for (const error of errors) {
      expect(isLeaseError(error)).toBe(true);
      expect(error.message).toMatch(/^[a-z][^\n]*: [^\n]*[^.\n]$/);
      expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: error.code });
    }
    expect(isLeaseError(new Error('x'))).toBe(false);
    expect(new LeaseHeldError('a', 7, { title: 'me' }).message).toContain('me');
  });
});

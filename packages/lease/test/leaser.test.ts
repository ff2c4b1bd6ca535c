import { MemoryLeases, memoryLeaser } from '@holdfast/lease';
import { describe, expect, it } from 'vitest';

describe('memory leaser', () => {
  it('grants one holder with rising epochs', async () => {
    const leaser = memoryLeaser();
    const first = await leaser.acquire('a');
    await expect(leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await first.release();
    const second = await leaser.acquire('a');
    expect(second.epoch).toBeGreaterThan(first.epoch);
    await leaser.close();
    expect(second.signal.reason).toMatchObject({ kind: 'closed' });
    await expect(leaser.acquire('a')).rejects.toMatchObject({ code: 'LEASE_CLOSED' });
  });

  it('queues waiters in order and lets them give up', async () => {
    const leaser = memoryLeaser();
    const first = await leaser.acquire('a');
    const order: string[] = [];
    const giveUp = new AbortController();
    const second = leaser.acquire('a', { wait: true, signal: giveUp.signal });
    const third = leaser.acquire('a', { wait: true }).then(async (lease) => {
      order.push('third');
      await lease.release();
    });
    const reason = new Error('enough');
    giveUp.abort(reason);
    await expect(second).rejects.toBe(reason);
    await first.release();
    await third;
    expect(order).toEqual(['third']);
  });

  it('tells the holder about an expiry, and silently expired holders when they check', async () => {
    const leases = new MemoryLeases();
    const leaser = memoryLeaser({ leases });
    const told = await leaser.acquire('a');
    leases.expire('a');
    expect(told.signal.reason).toMatchObject({ code: 'LEASE_LOST', kind: 'expired' });
    const untold = await leaser.acquire('a');
    leases.expire('a', { silently: true });
    expect(untold.held).toBe(true);
    const next = await leaser.acquire('a');
    await expect(untold.check()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await untold.release();
    await next.check();
  });
});

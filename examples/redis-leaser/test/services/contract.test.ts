import { setTimeout as sleep } from 'node:timers/promises';

import {
  prefixedLeaserHarness,
  secondViewLeaserHarness,
  testLeaser,
  verifyLeaser,
} from '@holdfast/lease/testing';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, it } from 'vitest';

import { controlService, serviceVariable } from '../../../../tools/services/control.mjs';
import { openTcpProxy } from '../../../../tools/services/tcp-proxy.mjs';
import { redisLeaserHarness } from '../../src/harness.mjs';
import { redisLeaser } from '../../src/redis-leaser.mjs';

const url = serviceVariable('HOLDFAST_REDIS_URL');
const harness = redisLeaserHarness(url);
afterAll(async () => {
  await harness.close();
});

for (const one of [harness, prefixedLeaserHarness(harness), secondViewLeaserHarness(harness)]) {
  testLeaser({ describe, it }, one);
}

describe('servers that do not keep their word', () => {
  const lies: Record<string, readonly [clauses: readonly string[], from: string | RegExp, to: string]> = {
    'the epoch is forgotten with the holder': [['3.1'], "redis.call('SET', KEYS[2], epoch)", ''],
    'whoever asks has it': [['2.2', '2.3'], 'return { 0, epoch, owner }', ''],
    'a release frees whoever has it': [['4.6'], /if string\.sub.*\n(?=return redis\.call\('DEL')/, ''],
  };
  it.each(Object.entries(lies))(
    '%s',
    async (adapter, [clauses, from, to]) => {
      const lying = redisLeaserHarness(url, { adapter, lie: (script) => script.replace(from, to) });
      const report = await verifyLeaser({ ...lying, limits: { caseMilliseconds: 3_000 } });
      await lying.close();
      const failed = report.cases.filter(({ failure }) => failure !== undefined).map(({ clause }) => clause);
      expect(failed).toEqual(expect.arrayContaining([...clauses]));
    },
    300_000,
  );
});

describe('a real server and real clocks', () => {
  it('a holder that is cut off knows before the server lets go', async () => {
    const proxy = await openTcpProxy(Number(new URL(url).port));
    const settings = { retryStrategy: () => 20, maxRetriesPerRequest: 1 };
    const [cut, other] = [new Redis(`redis://127.0.0.1:${proxy.port}`, settings), new Redis(url)];
    cut.on('error', () => undefined);
    const prefix = `cut:${process.pid}:`;
    const options = { prefix, ttlMilliseconds: 900 };
    const [first, second] = [redisLeaser(cut, options), redisLeaser(other, options)];
    const lease = await first.acquire('name');
    let lostAt = 0;
    lease.signal.addEventListener('abort', () => {
      lostAt = performance.now();
    });
    const waiting = second.acquire('name', { wait: true }).then((next) => ({ next, at: performance.now() }));
    proxy.refuse(true);
    const { next, at } = await waiting;
    expect(next.epoch).toBe(lease.epoch + 1);
    expect(lostAt).toBeGreaterThan(0);
    expect(lostAt).toBeLessThan(at);
    await second.close();
    await first.close().catch(() => undefined);
    cut.disconnect();
    await other.quit();
    await proxy.close();
  });

  it('a server that is killed knows the epochs when it is back', async () => {
    const redis = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null });
    redis.on('error', () => undefined);
    const leaser = redisLeaser(redis, { prefix: `kill:${process.pid}:`, ttlMilliseconds: 60_000 });
    let epoch = 0;
    for (let round = 0; round < 3; round += 1) {
      const lease = await leaser.acquire('name');
      expect(lease.epoch).toBeGreaterThan(epoch);
      ({ epoch } = lease);
      await lease.release();
      await controlService('redis', 'kill');
      await controlService('redis', 'restart');
      await sleep(100);
    }
    await leaser.close();
    await redis.quit();
  });
});

import { verifyLeaser } from '@holdfast/lease/testing';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, it } from 'vitest';

import { testLeaserFaults } from '../../../../tools/engines/leaser-faults.mjs';
import { brokenClauses, testLeaserViews } from '../../../../tools/engines/suites.mjs';
import { serviceVariable } from '../../../../tools/services/control.mjs';
import { forget, redisLeaserHarness } from '../../src/harness.mjs';
import { redisLeaser } from '../../src/redis-leaser.mjs';

const url = serviceVariable('HOLDFAST_REDIS_URL');
const harness = redisLeaserHarness(url);
afterAll(async () => {
  await harness.close();
});

testLeaserViews({ describe, it }, harness);

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
      const failed = await brokenClauses(verifyLeaser, lying);
      await lying.close();
      expect(failed).toEqual(expect.arrayContaining([...clauses]));
    },
    300_000,
  );
});

const password = 'hunter2-Secret';
const observer = new Redis(url, { maxRetriesPerRequest: null });
observer.on('error', () => undefined);
afterAll(async () => {
  await observer.quit();
});
let places = 0;

testLeaserFaults(
  { describe, it },
  {
    service: 'redis',
    port: Number(new URL(url).port),
    secrets: [password],
    shortestTtlMilliseconds: 600,
    place: () => {
      places += 1;
      return `faults:${process.pid}:${places}:`;
    },
    open: async (prefix, { port, ttlMilliseconds, answerMilliseconds }) => {
      const at = new URL(url);
      if (port !== undefined) at.port = String(port);
      // The client sends it and the server says that it wants none.
      const client = new Redis(at.href, { password, retryStrategy: () => 20, maxRetriesPerRequest: 1 });
      client.on('error', () => undefined);
      const leaser = redisLeaser(client, { prefix, ttlMilliseconds, answerMilliseconds });
      return {
        leaser,
        close: async () => {
          await leaser.close().catch(() => undefined);
          client.disconnect();
        },
      };
    },
    age: async (prefix) => {
      await forget(observer, prefix);
    },
    left: async () => await Promise.resolve(0),
  },
);

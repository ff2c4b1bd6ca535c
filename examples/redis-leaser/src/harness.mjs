import { randomBytes } from 'node:crypto';

import { Redis } from 'ioredis';

import { serverLeaserHarness } from '../../../tools/engines/harnesses.mjs';
import { redisLeaser } from './redis-leaser.mjs';

/** @typedef {import('@holdfast/lease/testing').LeaserHarness} LeaserHarness */

const ttlMilliseconds = 600_000;

/**
 * How the suite reaches a server: each storage is a prefix of its own.
 * Ask for `lie` to see what the suite says about a server that does not keep its word.
 * @param {string} url
 * @param {{ adapter?: string, lie?: (script: string) => string }} [options]
 * @returns {LeaserHarness & { close: () => Promise<void> }}
 */
export function redisLeaserHarness(url, options = {}) {
  const redis = new Redis(url, { maxRetriesPerRequest: 2 });
  redis.on('error', () => undefined);
  const run = `t:${randomBytes(6).toString('hex')}`;
  const { lie = (script) => script } = options;
  let count = 0;
  const unreachable = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const harness = serverLeaserHarness({
    adapter: options.adapter ?? 'redis',
    ttlMilliseconds,
    place: () => {
      count += 1;
      return `${run}:${count}:`;
    },
    open: (prefix, { wire, clock }) => {
      /** @type {import('./redis-leaser.mjs').RedisScripts['eval']} */
      const send = async (script, keys, ...values) =>
        await wire.pass(async () => await redis.eval(lie(script), keys, ...values), {
          refused: unreachable,
          lost: unreachable,
        });
      return redisLeaser({ eval: send }, { clock, ttlMilliseconds, prefix });
    },
    age: async (prefix, name) => {
      await forget(redis, prefix, name);
    },
  });
  return {
    ...harness,
    close: async () => {
      for (const key of await redis.keys(`${run}:*`)) await redis.del(key);
      await redis.quit();
    },
  };
}

/**
 * What the server does when the time of a name, or of all names, has run out.
 * @param {Redis} redis
 * @param {string} prefix
 * @param {string} [name]
 */
export async function forget(redis, prefix, name) {
  const keys = name === undefined ? await redis.keys(`${prefix}*:holder`) : [`${prefix}{${name}}:holder`];
  for (const key of keys) await redis.del(key);
}

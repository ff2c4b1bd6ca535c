import { randomBytes } from 'node:crypto';

import { yieldToEventLoop } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { Redis } from 'ioredis';

import { redisLeaser } from './redis-leaser.mjs';

/** @typedef {import('@holdfast/lease').Leaser} Leaser */
/** @typedef {import('@holdfast/lease/testing').LeaserHarness} LeaserHarness */
/** @typedef {import('./redis-leaser.mjs').RedisScripts} RedisScripts */

const ttl = 600_000;

/**
 * Every view is a host with a clock of its own, which the suite moves; what the server forgets in time is deleted by hand.
 * Ask for `lie` to see what the suite says about a server that does not keep its word.
 * @param {string} url
 * @param {{ adapter?: string, lie?: (script: string) => string }} [options]
 * @returns {LeaserHarness & { close: () => Promise<void> }}
 */
export function redisLeaserHarness(url, options = {}) {
  const redis = new Redis(url, { maxRetriesPerRequest: 2 });
  const run = `t:${randomBytes(6).toString('hex')}`;
  /** @typedef {{ prefix: string, clock: ManualClock, cut: boolean, stopped: boolean, underWay: number }} View */
  /** @type {Map<Leaser, View>} */
  const views = new Map();
  let count = 0;
  /** @param {string} prefix */
  const open = (prefix) => {
    /** @type {View} */
    const view = { prefix, clock: new ManualClock(), cut: false, stopped: false, underWay: 0 };
    /** @type {RedisScripts} */
    const client = {
      eval: async (script, keys, ...values) => {
        if (view.cut) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
        view.underWay += 1;
        try {
          return await redis.eval(options.lie?.(script) ?? script, keys, ...values);
        } finally {
          view.underWay -= 1;
        }
      },
    };
    const leaser = redisLeaser(client, { clock: view.clock, ttlMilliseconds: ttl, prefix });
    views.set(leaser, view);
    return leaser;
  };
  /** @param {Leaser} leaser */
  const viewOf = (leaser) => /** @type {View} */ (views.get(leaser));
  const settled = async () => {
    while ([...views.values()].some((view) => view.underWay > 0)) await yieldToEventLoop();
  };
  /** @param {string} prefix @param {string} name */
  const forget = async (prefix, name) => {
    await redis.del(`${prefix}{${name}}:holder`);
  };
  return {
    adapter: options.adapter ?? 'redis',
    fresh: async () => {
      count += 1;
      return open(`${run}:${count}:`);
    },
    reopen: async (leaser) => open(viewOf(leaser).prefix),
    expire: async (lease, leaser) => {
      const view = viewOf(leaser);
      await settled();
      view.cut = true;
      await view.clock.advance(ttl);
      await forget(view.prefix, lease.name);
      view.cut = false;
    },
    suspend: async (lease, leaser) => {
      await forget(viewOf(leaser).prefix, lease.name);
    },
    crash: async (leaser) => {
      const view = viewOf(leaser);
      await settled();
      view.stopped = true;
      view.cut = true;
      for (const key of await redis.keys(`${view.prefix}*:holder`)) await redis.del(key);
    },
    outage: async (leaser) => {
      const view = viewOf(leaser);
      view.cut = true;
      return () => {
        view.cut = false;
      };
    },
    advance: async (milliseconds) => {
      // Imaginary time stands still while the real server is at work, or its answers would come too late.
      await settled();
      for (const view of views.values()) if (!view.stopped) await view.clock.advance(milliseconds);
      await settled();
    },
    close: async () => {
      for (const key of await redis.keys(`${run}:*`)) await redis.del(key);
      await redis.quit();
    },
  };
}

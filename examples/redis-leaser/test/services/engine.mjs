// The engine of take-over campaigns: leases in Redis under the prefix, journals in the directory that the environment names.
import { sharedSessionLedgers } from '@holdfast/journal';
import { Redis } from 'ioredis';

import { openFileLedger } from '../../../file-ledger/src/file-ledger.mjs';
import { redisLeaser } from '../../src/redis-leaser.mjs';

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<import('../../../../tools/takeover/campaign.mjs').Engine>}
 */
export async function openEngine(env) {
  const redis = new Redis(env['HOLDFAST_REDIS_URL'] ?? '', {
    retryStrategy: () => 50,
    maxRetriesPerRequest: 1,
  });
  redis.on('error', () => undefined);
  const leaser = redisLeaser(redis, { prefix: env['HOLDFAST_TEST_PREFIX'] ?? '', ttlMilliseconds: 600 });
  const ledger = await openFileLedger(env['HOLDFAST_TEST_DIRECTORY'] ?? '');
  return {
    ledgers: sharedSessionLedgers(ledger),
    leaser,
    close: async () => {
      await leaser.close().catch(() => undefined);
      await ledger.close();
      redis.disconnect();
    },
  };
}

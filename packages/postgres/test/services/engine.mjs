// The engine of take-over campaigns: one storage for each process, in the schema that the environment names.
import { setTimeout as sleep } from 'node:timers/promises';

import { sharedSessionLedgers } from '@holdfast/journal';
import { openPostgres } from '@holdfast/postgres';
import pg from 'pg';

/** @returns {Promise<import('../../../../tools/takeover/campaign.mjs').Engine>} */
export async function openEngine() {
  const address = { connectionString: process.env['HOLDFAST_POSTGRES_URL'] };
  const pool = new pg.Pool({ ...address, max: 2, query_timeout: 5_000 });
  pool.on('error', () => undefined);
  const storage = await openWhenThere(pool);
  return {
    ledgers: sharedSessionLedgers(storage.ledger),
    leaser: storage.leaser,
    close: async () => {
      await storage.close().catch(() => undefined);
      await pool.end();
    },
  };
}

/** A writer may be started while the server is away. @param {pg.Pool} pool */
async function openWhenThere(pool) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openPostgres(pool, {
        schema: process.env['HOLDFAST_TEST_SCHEMA'],
        ttlMilliseconds: 600,
        pollMilliseconds: 50,
        statementMilliseconds: 4_000,
      });
    } catch (error) {
      if (tries === 40 || /** @type {{ retryable?: unknown }} */ (error).retryable !== true) throw error;
      await sleep(250);
    }
  }
}

// The engine of take-over campaigns: one storage for each process, in the schema that the environment names.
import { sharedSessionLedgers } from '@holdfast/journal';
import { openPostgres } from '@holdfast/postgres';
import pg from 'pg';

import { openWhenThere } from '../../../../tools/takeover/open-when-there.mjs';

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<import('../../../../tools/takeover/campaign.mjs').Engine>}
 */
export async function openEngine(env) {
  const address = { connectionString: env['HOLDFAST_POSTGRES_URL'] };
  const pool = new pg.Pool({ ...address, max: 2, query_timeout: 5_000 });
  pool.on('error', () => undefined);
  const storage = await openWhenThere(
    async () =>
      await openPostgres(pool, {
        schema: env['HOLDFAST_TEST_SCHEMA'],
        ttlMilliseconds: 600,
        pollMilliseconds: 50,
        statementMilliseconds: 4_000,
      }),
  );
  return {
    ledgers: sharedSessionLedgers(storage.ledger),
    leaser: storage.leaser,
    close: async () => {
      await storage.close().catch(() => undefined);
      await pool.end();
    },
  };
}

// The engine of take-over campaigns: one storage for each process, in the streams that the environment names.
import { sharedSessionLedgers } from '@holdfast/journal';
import { openNats } from '@holdfast/nats';
import { connect } from '@nats-io/transport-node';

import { openWhenThere } from '../../../../tools/takeover/open-when-there.mjs';

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<import('../../../../tools/takeover/campaign.mjs').Engine>}
 */
export async function openEngine(env) {
  const connection = await connect({
    servers: env['HOLDFAST_NATS_URL'],
    reconnectTimeWait: 50,
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
  });
  const storage = await openWhenThere(
    async () =>
      await openNats(connection, {
        prefix: env['HOLDFAST_TEST_PREFIX'],
        acknowledge: 'unsynced',
        ttlMilliseconds: 1_000,
        pollMilliseconds: 50,
        requestMilliseconds: 1_500,
      }),
  );
  return {
    ledgers: sharedSessionLedgers(storage.ledger),
    leaser: storage.leaser,
    close: async () => {
      await storage.close().catch(() => undefined);
      await connection.close();
    },
  };
}

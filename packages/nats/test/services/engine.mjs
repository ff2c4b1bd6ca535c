// The engine of take-over campaigns: one storage for each process, in the streams that the environment names.
import { setTimeout as sleep } from 'node:timers/promises';

import { sharedSessionLedgers } from '@holdfast/journal';
import { openNats } from '@holdfast/nats';
import { connect } from '@nats-io/transport-node';

/** @returns {Promise<import('../../../../tools/takeover/campaign.mjs').Engine>} */
export async function openEngine() {
  const connection = await connect({
    servers: process.env['HOLDFAST_NATS_URL'],
    reconnectTimeWait: 50,
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
  });
  const storage = await openWhenThere(connection);
  return {
    ledgers: sharedSessionLedgers(storage.ledger),
    leaser: storage.leaser,
    close: async () => {
      await storage.close().catch(() => undefined);
      await connection.close();
    },
  };
}

/** A writer may be started while the server is away. @param {import('@nats-io/nats-core').NatsConnection} connection */
async function openWhenThere(connection) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openNats(connection, {
        prefix: process.env['HOLDFAST_TEST_PREFIX'],
        acknowledge: 'unsynced',
        ttlMilliseconds: 1_000,
        pollMilliseconds: 50,
        requestMilliseconds: 1_500,
      });
    } catch (error) {
      if (tries === 20 || /** @type {{ retryable?: unknown }} */ (error).retryable !== true) throw error;
      await sleep(250);
    }
  }
}

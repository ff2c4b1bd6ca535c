// What the hosts share. Each engine is one line: another ledger, another leaser, other blobs.
import { layerBlobs, retryLayer } from '@holdfast/blobs/layers';
import { sharedSessionLedgers } from '@holdfast/journal';
import { openNats } from '@holdfast/nats';
import { migratePostgres, openPostgres } from '@holdfast/postgres';
import { openS3Blobs } from '@holdfast/s3';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';

/** How long a host that says nothing keeps its sessions, in milliseconds. Short, so that the example is. */
export const ttlMilliseconds = 2_000;

/**
 * @typedef {object} Engines
 * @property {import('@holdfast/journal').SessionLedgers} ledgers
 * @property {import('@holdfast/lease').Leaser} leaser
 * @property {import('@holdfast/blobs').Blobs} blobs
 * @property {() => Promise<void>} close
 */

/**
 * @param {'postgres' | 'nats'} engine
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<Engines>}
 */
export async function openEngines(engine, env = process.env) {
  const blobs = await openBucket(env);
  const { ledger, leaser, close } = engine === 'postgres' ? await openDatabase(env) : await openStreams(env);
  return {
    ledgers: sharedSessionLedgers(ledger),
    leaser,
    blobs,
    close: async () => {
      await close();
      await blobs.close();
    },
  };
}

/** @param {NodeJS.ProcessEnv} env */
export async function openBucket(env) {
  const bucket = await openS3Blobs({
    bucket: env['TWO_HOSTS_BUCKET'] ?? '',
    prefix: env['TWO_HOSTS_PREFIX'],
    client: {
      endpoint: env['HOLDFAST_S3_ENDPOINT'] ?? '',
      region: env['HOLDFAST_S3_REGION'] ?? '',
      forcePathStyle: true,
      credentials: {
        accessKeyId: env['HOLDFAST_S3_ACCESS_KEY_ID'] ?? '',
        secretAccessKey: env['HOLDFAST_S3_SECRET_ACCESS_KEY'] ?? '',
      },
    },
  });
  return layerBlobs(bucket, [retryLayer()]);
}

/** @param {NodeJS.ProcessEnv} env */
export async function openDatabase(env) {
  const address = { connectionString: env['HOLDFAST_POSTGRES_URL'] };
  const pool = new pg.Pool({ ...address, max: 3, query_timeout: 5_000 });
  pool.on('error', () => undefined);
  const schema = env['TWO_HOSTS_NAME'];
  await migratePostgres(pool, { schema });
  const storage = await openPostgres(pool, { schema, ttlMilliseconds, listen: () => new pg.Client(address) });
  return {
    ...storage,
    close: async () => {
      await storage.close();
      await pool.end();
    },
  };
}

/** @param {NodeJS.ProcessEnv} env */
export async function openStreams(env) {
  const connection = await connect({ servers: env['HOLDFAST_NATS_URL'], maxReconnectAttempts: -1 });
  // The servers of Debian 12 cannot sync with every write.
  const prefix = env['TWO_HOSTS_NAME'];
  const storage = await openNats(connection, { prefix, ttlMilliseconds, acknowledge: 'unsynced' });
  return {
    ...storage,
    close: async () => {
      await storage.close();
      await connection.close();
    },
  };
}

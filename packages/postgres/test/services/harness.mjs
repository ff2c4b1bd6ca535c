// How the contract suites reach a real Postgres: shared by the tests under vitest and under node:test.
import { randomBytes } from 'node:crypto';

import * as postgres from '@holdfast/postgres';
import pg from 'pg';

import { serverLeaserHarness, serverLedgerHarness } from '../../../../tools/engines/harnesses.mjs';

/** @typedef {import('@holdfast/postgres').PostgresQuery} PostgresQuery */
/** @typedef {Pick<typeof postgres, 'openPostgres' | 'migratePostgres'>} Adapter The adapter, or one with a mistake in it. */
/** @typedef {import('../../../../tools/engines/harnesses.mjs').Wire} Wire */

/** @returns {string} */
export function postgresUrl() {
  const url = process.env['HOLDFAST_POSTGRES_URL'];
  if (url === undefined)
    throw new Error('HOLDFAST_POSTGRES_URL is not set: run this test by npm run test:services');
  return url;
}

/** Schemas of one test file, dropped at its end. */
export class World {
  /** @type {pg.Pool} */
  pool;
  /** @type {string[]} */
  #schemas = [];
  /** @type {pg.Client[]} */
  #pooled = [];

  constructor(url = postgresUrl(), size = 6) {
    this.url = url;
    this.pool = new pg.Pool({ connectionString: url, max: size, query_timeout: 20_000 });
    this.pool.on('error', () => undefined);
  }

  async schema({ migratePostgres } = /** @type {Adapter} */ (postgres)) {
    const schema = `t_${randomBytes(6).toString('hex')}`;
    await migratePostgres(this.pool, { schema });
    this.#schemas.push(schema);
    return schema;
  }

  listener() {
    return new pg.Client({ connectionString: this.url });
  }

  /**
   * What a pooler in transaction mode does to its clients: each statement goes to another server session, which has
   * forgotten everything that was ever set, prepared or listened to.
   * @returns {PostgresQuery}
   */
  transactionPooler() {
    /** @type {Promise<pg.Client[]> | undefined} */
    let clients;
    let turn = 0;
    /** @type {Promise<unknown>[]} */
    const busy = [];
    return {
      query: async (text, values) => {
        clients ??= Promise.all(
          [0, 1, 2].map(async () => {
            const client = this.listener();
            client.on('error', () => undefined);
            await client.connect();
            this.#pooled.push(client);
            return client;
          }),
        );
        const sessions = await clients;
        turn += 1;
        const at = turn % sessions.length;
        const session = /** @type {pg.Client} */ (sessions[at]);
        const mine = (busy[at] ?? Promise.resolve()).then(async () => {
          try {
            return await session.query(text, values);
          } finally {
            await session.query('discard all');
          }
        });
        busy[at] = mine.catch(() => undefined);
        return await mine;
      },
    };
  }

  async close() {
    for (const client of this.#pooled) await client.end();
    for (const schema of this.#schemas.splice(0))
      await this.pool.query(`drop schema if exists ${schema} cascade`);
    await this.pool.end();
  }
}

/**
 * @param {PostgresQuery} client
 * @param {Wire} wire
 * @returns {PostgresQuery}
 */
function wired(client, wire) {
  return {
    query: async (text, values) =>
      await wire.pass(async () => await client.query(text, values), {
        append: text.includes('as written'),
        refused: () => systemError('connect', 'ECONNREFUSED'),
        lost: () => systemError('read', 'ECONNRESET'),
      }),
  };
}

/** @param {string} syscall @param {string} code */
function systemError(syscall, code) {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}

/**
 * @param {World} world
 * @param {{ adapter?: string, client?: PostgresQuery, listen?: boolean, driver?: Adapter }} [options]
 */
export function postgresLedgerHarness(world, options = {}) {
  const { driver = postgres } = options;
  return serverLedgerHarness({
    adapter: options.adapter ?? 'postgres',
    place: async () => await world.schema(driver),
    open: async (schema, wire) => {
      const storage = await driver.openPostgres(wired(options.client ?? world.pool, wire), {
        schema,
        ...(options.listen === true ? { listen: () => world.listener() } : { pollMilliseconds: 5 }),
      });
      const { ledger } = storage;
      // The suite closes the ledger; what is behind it has to go with it.
      ledger.close = async () => {
        Reflect.deleteProperty(ledger, 'close');
        await storage.close();
      };
      ledger[Symbol.asyncDispose] = async () => await ledger.close();
      return ledger;
    },
    corrupt: async (schema, name, seq) => {
      const { rowCount } = await world.pool.query(
        `update ${schema}.record set data = set_byte(data, 0, get_byte(data, 0) # 16)
         where seq = $2 and ledger = (select id from ${schema}.ledger where name = $1)`,
        [name, seq],
      );
      if (rowCount !== 1) throw new Error('there is no such record to damage');
    },
  });
}

/** @param {World} world @param {string} schema @param {number} milliseconds @param {string} [name] */
async function age(world, schema, milliseconds, name) {
  await world.pool.query(
    `update ${schema}.lease set expires = expires - $1::float8 * interval '1 ms'
     where expires > '-infinity' and ($2::text is null or name = $2)`,
    [milliseconds, name ?? null],
  );
}

/**
 * @param {World} world
 * @param {{ adapter?: string, client?: PostgresQuery, driver?: Adapter }} [options]
 */
export function postgresLeaserHarness(world, options = {}) {
  const ttlMilliseconds = 30_000;
  const { driver = postgres } = options;
  return serverLeaserHarness({
    adapter: options.adapter ?? 'postgres',
    ttlMilliseconds,
    place: async () => await world.schema(driver),
    open: async (schema, { wire, clock }) => {
      const client = wired(options.client ?? world.pool, wire);
      return (await driver.openPostgres(client, { schema, clock, ttlMilliseconds })).leaser;
    },
    age: async (schema, name) => {
      await age(world, schema, ttlMilliseconds, name);
    },
  });
}

/** What the server, which trusts every loopback client, does not look at. */
const password = 'hunter2-Secret';

/**
 * @param {World} world
 * @param {Adapter} [driver]
 * @returns {import('../../../../tools/engines/engine-under-test.mjs').EngineUnderTest}
 */
export function postgresUnderTest(world, driver = postgres) {
  const port = Number(new URL(world.url).port);
  return {
    service: 'postgres',
    port,
    secrets: [password],
    shortestTtlMilliseconds: 600,
    place: async () => await world.schema(driver),
    open: async (schema, settings) => {
      const url = new URL(world.url);
      url.port = String(settings.port ?? port);
      url.password = password;
      const { answerMilliseconds = 10_000, ttlMilliseconds } = settings;
      const pool = new pg.Pool({
        connectionString: url.href,
        max: 2,
        connectionTimeoutMillis: 2_000,
        // A connection that went silent is replaced.
        query_timeout: answerMilliseconds + 100,
      });
      pool.on('error', () => undefined);
      const storage = await driver.openPostgres(pool, {
        schema,
        ttlMilliseconds,
        statementMilliseconds: answerMilliseconds,
        pollMilliseconds: 20,
      });
      return {
        ...storage,
        close: async () => {
          await storage.close().catch(() => undefined);
          await pool.end();
        },
      };
    },
    age: async (schema) => {
      await age(world, schema, 3_600_000);
    },
    left: async (schema) => {
      const { rows } = await world.pool.query(`select count(*)::int as left from ${schema}.record`);
      return rows[0].left;
    },
  };
}

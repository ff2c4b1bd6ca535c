// How the contract suites reach a real Postgres: shared by the tests under vitest and under node:test.
import { randomBytes } from 'node:crypto';

import { yieldToEventLoop } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { migratePostgres, openPostgres } from '@holdfast/postgres';
import pg from 'pg';

/** @typedef {import('@holdfast/postgres').PostgresQuery} PostgresQuery */
/** @typedef {import('@holdfast/journal').Ledger} Ledger */
/** @typedef {import('@holdfast/lease').Leaser} Leaser */
/** @typedef {import('@holdfast/journal/testing').LedgerHarness} LedgerHarness */
/** @typedef {import('@holdfast/lease/testing').LeaserHarness} LeaserHarness */

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

  async schema() {
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

/** A client that counts what is under way, and that can be cut off. */
class Wire {
  /** @type {PostgresQuery} */
  #client;
  cut = false;
  underWay = 0;
  /** @type {'landed' | 'not-landed' | undefined} */
  lose;

  /** @param {PostgresQuery} client */
  constructor(client) {
    this.#client = client;
  }

  /** @type {PostgresQuery['query']} */
  async query(text, values) {
    if (this.cut)
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
    const lose = text.includes('as written') ? this.lose : undefined;
    if (lose !== undefined) this.lose = undefined;
    this.underWay += 1;
    try {
      if (lose === 'not-landed') throw lost();
      const result = await this.#client.query(text, values);
      if (lose === 'landed') throw lost();
      return result;
    } finally {
      this.underWay -= 1;
    }
  }
}

function lost() {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
}

/**
 * @param {World} world
 * @param {{ adapter?: string, client?: PostgresQuery, listen?: boolean }} [options]
 * @returns {LedgerHarness}
 */
export function postgresLedgerHarness(world, options = {}) {
  /** @type {WeakMap<Ledger, { schema: string, wire: Wire }>} */
  const opened = new WeakMap();
  /** @param {string} schema */
  const open = async (schema) => {
    const wire = new Wire(options.client ?? world.pool);
    const storage = await openPostgres(wire, {
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
    opened.set(ledger, { schema, wire });
    return ledger;
  };
  /** @param {Ledger} ledger */
  const known = (ledger) => /** @type {{ schema: string, wire: Wire }} */ (opened.get(ledger));
  return {
    adapter: options.adapter ?? 'postgres',
    fresh: async () => await open(await world.schema()),
    reopen: async (ledger) => await open(known(ledger).schema),
    crash: async (ledger) => await open(known(ledger).schema),
    corrupt: async (ledger, name, seq) => {
      const { schema } = known(ledger);
      const { rowCount } = await world.pool.query(
        `update ${schema}.record set data = set_byte(data, 0, get_byte(data, 0) # 16)
         where seq = $2 and ledger = (select id from ${schema}.ledger where name = $1)`,
        [name, seq],
      );
      if (rowCount !== 1) throw new Error('there is no such record to damage');
    },
    loseReply: async (ledger, outcome) => {
      known(ledger).wire.lose = outcome;
    },
  };
}

const ttl = 30_000;

/**
 * Every view is a host with a clock of its own, which the suite moves; the server's clock is moved by ageing its rows.
 * @param {World} world
 * @param {{ adapter?: string, client?: PostgresQuery }} [options]
 * @returns {LeaserHarness}
 */
export function postgresLeaserHarness(world, options = {}) {
  /** @typedef {{ schema: string, wire: Wire, clock: ManualClock, stopped: boolean }} View */
  /** @type {Map<Leaser, View>} */
  const views = new Map();
  /** @param {string} schema */
  const open = async (schema) => {
    const wire = new Wire(options.client ?? world.pool);
    const clock = new ManualClock();
    const storage = await openPostgres(wire, { schema, clock, ttlMilliseconds: ttl });
    const { leaser } = storage;
    views.set(leaser, { schema, wire, clock, stopped: false });
    return leaser;
  };
  /** @param {Leaser} leaser */
  const viewOf = (leaser) => /** @type {View} */ (views.get(leaser));
  /** @param {string} schema @param {string} [name] */
  const age = async (schema, name) => {
    await world.pool.query(
      `update ${schema}.lease set expires = expires - $1::float8 * interval '1 ms'
       where expires > '-infinity' and ($2::text is null or name = $2)`,
      [ttl, name ?? null],
    );
  };
  const settled = async () => {
    while ([...views.values()].some((view) => view.wire.underWay > 0)) await yieldToEventLoop();
  };
  return {
    adapter: options.adapter ?? 'postgres',
    fresh: async () => await open(await world.schema()),
    reopen: async (leaser) => await open(viewOf(leaser).schema),
    expire: async (lease, leaser) => {
      const { clock, wire, schema } = viewOf(leaser);
      await settled();
      wire.cut = true;
      await clock.advance(ttl);
      await age(schema, lease.name);
      wire.cut = false;
    },
    suspend: async (lease, leaser) => {
      await age(viewOf(leaser).schema, lease.name);
    },
    crash: async (leaser) => {
      const view = viewOf(leaser);
      await settled();
      view.stopped = true;
      view.wire.cut = true;
      await age(view.schema);
    },
    outage: async (leaser) => {
      const { wire } = viewOf(leaser);
      wire.cut = true;
      return () => {
        wire.cut = false;
      };
    },
    advance: async (milliseconds) => {
      // Imaginary time stands still while the real server is at work, or its answers would come too late.
      await settled();
      for (const view of views.values()) if (!view.stopped) await view.clock.advance(milliseconds);
      await settled();
    },
  };
}

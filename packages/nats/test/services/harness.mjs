// How the contract suites reach a real NATS server: shared by the tests under vitest and under node:test.
import { randomBytes } from 'node:crypto';

import * as nats from '@holdfast/nats';
import { jetstreamManager } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';

import { serverLeaserHarness, serverLedgerHarness } from '../../../../tools/engines/harnesses.mjs';

/** @typedef {import('@nats-io/nats-core').NatsConnection} NatsConnection */
/** @typedef {Pick<typeof nats, 'openNats'>} Adapter The adapter, or one with a mistake in it. */
/** @typedef {import('../../../../tools/engines/harnesses.mjs').Wire} Wire */

/** @returns {string} */
export function natsUrl() {
  const url = process.env['HOLDFAST_NATS_URL'];
  if (url === undefined)
    throw new Error('HOLDFAST_NATS_URL is not set: run this test by npm run test:services');
  return url;
}

/** Streams of one test file, removed at its end. */
export class World {
  /** @type {Promise<NatsConnection>} */
  connection;
  /** @type {string[]} */
  #prefixes = [];

  constructor(url = natsUrl()) {
    this.url = url;
    this.connection = connect({
      servers: url,
      reconnectTimeWait: 50,
      maxReconnectAttempts: -1,
      timeout: 20_000,
    });
  }

  prefix() {
    const prefix = `t-${randomBytes(6).toString('hex')}`;
    this.#prefixes.push(prefix);
    return prefix;
  }

  /**
   * Asks the server something that may be asked again: what was sent to one that was killed meanwhile gets no answer.
   * @template T
   * @param {(manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>} question
   * @returns {Promise<T>}
   */
  async ask(question) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await question(await this.manager());
      } catch (error) {
        if (tries === 10) throw error;
      }
    }
  }

  async manager() {
    return await jetstreamManager(await this.connection);
  }

  async close() {
    const manager = await this.manager();
    for (const prefix of this.#prefixes.splice(0)) {
      for (const part of ['journal', 'leases', 'epochs'])
        await manager.streams.delete(`${prefix}-${part}`).catch(() => undefined);
    }
    await (await this.connection).close();
  }
}

/**
 * How the server can be made to lie.
 * @typedef {object} Lies
 * @property {((subject: string, data: any) => any) | undefined} [lie] Changes what the server answers.
 * @property {((subject: string, options: any, payload: any) => Promise<any> | undefined) | undefined} [instead] Answers in its place.
 * @property {boolean | undefined} [deaf] Nothing that is sent to the subjects of others is heard.
 */

/**
 * @param {NatsConnection} connection
 * @param {Wire} wire
 * @param {Lies} [lies]
 * @returns {NatsConnection}
 */
function wired(connection, wire, { lie, instead, deaf } = {}) {
  const failures = { refused: () => new TimeoutError(), lost: () => new TimeoutError() };
  /** @type {NatsConnection['request']} */
  const request = async (subject, payload, options) =>
    await wire.pass(
      async () => {
        const other = instead?.(subject, options, payload);
        const answer =
          other === undefined ? await connection.request(subject, payload, options) : await other;
        return lie === undefined ? answer : lie(subject, answer);
      },
      { append: subject.includes('.journal.'), ...failures },
    );
  const flush = async () => await wire.pass(async () => await connection.flush(), failures);
  /** @type {NatsConnection['subscribe']} */
  const subscribe = (subject, options) =>
    connection.subscribe(subject, { ...options, callback: () => undefined });
  return new Proxy(connection, {
    get: (target, property) => {
      // Requests of the client itself have an inbox.
      if (property === 'subscribe' && deaf === true) return subscribe;
      if (property === 'request') return request;
      if (property === 'flush') return flush;
      const member = Reflect.get(target, property, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

const accepted = /** @type {const} */ ({ acknowledge: 'unsynced' });

/**
 * Answers of the server with the bytes of one record changed, as damage on its disk would.
 * @param {string} name
 * @param {number} seq
 * @returns {NonNullable<Lies['lie']>}
 */
function damaged(name, seq) {
  return (subject, answer) => {
    if (!subject.includes('.STREAM.MSG.GET.')) return answer;
    const body = JSON.parse(new TextDecoder().decode(answer.data));
    if (!body.message?.subject?.endsWith(`.journal.${name.replaceAll('.', '=')}`)) return answer;
    const bytes = Buffer.from(body.message.data, 'base64');
    const first = Number(bytes.readBigUInt64BE(13));
    const count = bytes.readUInt32BE(41);
    if (seq < first || seq >= first + count) return answer;
    let at = 45 + 36 * count + 32;
    for (let index = 0; index < seq - first; index += 1) at += bytes.readUInt32BE(45 + 36 * index);
    bytes.writeUInt8(bytes.readUInt8(at) ^ 0x10, at);
    body.message.data = bytes.toString('base64');
    const data = new TextEncoder().encode(JSON.stringify(body));
    return new Proxy(answer, {
      get: (target, property) => {
        if (property === 'data') return data;
        if (property === 'json') return () => body;
        const member = Reflect.get(target, property, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  };
}

/**
 * @param {World} world
 * @param {{ adapter?: string, instead?: Lies['instead'], deaf?: boolean, driver?: Adapter }} [options]
 */
export function natsLedgerHarness(world, options = {}) {
  const { driver = nats, instead, deaf } = options;
  /** What is damaged is so for every view. @type {Map<string, NonNullable<Lies['lie']>>} */
  const damage = new Map();
  return serverLedgerHarness({
    adapter: options.adapter ?? 'nats',
    place: () => world.prefix(),
    open: async (prefix, wire) => {
      const connection = wired(await world.connection, wire, {
        instead,
        deaf,
        lie: (subject, answer) => damage.get(prefix)?.(subject, answer) ?? answer,
      });
      const settings = {
        ...accepted,
        prefix,
        requestMilliseconds: 15_000,
        pollMilliseconds: deaf ? 5 : undefined,
      };
      return (await driver.openNats(connection, settings)).ledger;
    },
    corrupt: (prefix, name, seq) => {
      damage.set(prefix, damaged(name, seq));
    },
  });
}

/**
 * What the server does with a message whose time has run out.
 * @param {World} world
 * @param {string} prefix
 * @param {string} [name]
 */
async function age(world, prefix, name) {
  const filter = `${prefix}.lease.${name?.replaceAll('.', '=') ?? '*'}`;
  await world.ask(async ({ streams }) => await streams.purge(`${prefix}-leases`, { filter }));
}

/**
 * @param {World} world
 * @param {{ adapter?: string, instead?: Lies['instead'], deaf?: boolean, driver?: Adapter }} [options]
 */
export function natsLeaserHarness(world, options = {}) {
  const { driver = nats, instead, deaf } = options;
  const ttlMilliseconds = 600_000;
  return serverLeaserHarness({
    adapter: options.adapter ?? 'nats',
    ttlMilliseconds,
    place: () => world.prefix(),
    open: async (prefix, { wire, clock }) => {
      const connection = wired(await world.connection, wire, { instead, deaf });
      const settings = { ...accepted, prefix, clock, ttlMilliseconds, requestMilliseconds: 15_000 };
      return (await driver.openNats(connection, settings)).leaser;
    },
    age: async (prefix, name) => {
      await age(world, prefix, name);
    },
  });
}

/** What the server, which lets everybody in, does not look at. */
const pass = 'hunter2-Secret';

/**
 * @param {World} world
 * @param {Adapter} [driver]
 * @returns {import('../../../../tools/engines/engine-under-test.mjs').EngineUnderTest}
 */
export function natsUnderTest(world, driver = nats) {
  const port = Number(new URL(world.url).port);
  return {
    service: 'nats',
    port,
    secrets: [pass],
    // The least that a stream can be told.
    shortestTtlMilliseconds: 1_000,
    place: () => world.prefix(),
    open: async (prefix, settings) => {
      const connection = await connect({
        servers: `nats://127.0.0.1:${settings.port ?? port}`,
        user: 'me',
        pass,
        reconnectTimeWait: 20,
        reconnectJitter: 0,
        maxReconnectAttempts: -1,
      });
      const storage = await driver.openNats(connection, {
        ...accepted,
        prefix,
        ttlMilliseconds: settings.ttlMilliseconds,
        requestMilliseconds: settings.answerMilliseconds,
        pollMilliseconds: 20,
      });
      return {
        ...storage,
        close: async () => {
          await storage.close().catch(() => undefined);
          await connection.close();
        },
      };
    },
    age: async (prefix) => {
      await age(world, prefix);
    },
    left: async (prefix) => {
      const { state } = await world.ask(async ({ streams }) => await streams.info(`${prefix}-journal`));
      return state.messages;
    },
  };
}

// How the contract suites reach a real NATS server: shared by the tests under vitest and under node:test.
import { randomBytes } from 'node:crypto';

import { yieldToEventLoop } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { openNats } from '@holdfast/nats';
import { jetstreamManager } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';

/** @typedef {import('@nats-io/nats-core').NatsConnection} NatsConnection */
/** @typedef {import('@holdfast/journal').Ledger} Ledger */
/** @typedef {import('@holdfast/lease').Leaser} Leaser */
/** @typedef {import('@holdfast/journal/testing').LedgerHarness} LedgerHarness */
/** @typedef {import('@holdfast/lease/testing').LeaserHarness} LeaserHarness */

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
 * A connection that counts what is under way, that can be cut off, and whose server can be made to lie.
 * @typedef {object} Wire
 * @property {boolean} cut
 * @property {number} underWay
 * @property {'landed' | 'not-landed' | undefined} lose The answer to the next append.
 * @property {((subject: string, data: any) => any) | undefined} lie Changes what the server answers.
 * @property {((subject: string, options: any, payload: any) => Promise<any> | undefined) | undefined} instead Answers in its place.
 */

/**
 * @param {NatsConnection} connection
 * @returns {{ wire: Wire, connection: NatsConnection }}
 */
export function wired(connection) {
  /** @type {Wire} */
  const wire = { cut: false, underWay: 0, lose: undefined, lie: undefined, instead: undefined };
  /** @type {NatsConnection['request']} */
  const request = async (subject, payload, options) => {
    if (wire.cut) throw new TimeoutError();
    const lose = subject.includes('.journal.') ? wire.lose : undefined;
    if (lose !== undefined) wire.lose = undefined;
    wire.underWay += 1;
    try {
      if (lose === 'not-landed') throw new TimeoutError();
      const instead = wire.instead?.(subject, options, payload);
      const answer =
        instead === undefined ? await connection.request(subject, payload, options) : await instead;
      if (lose === 'landed') throw new TimeoutError();
      return wire.lie === undefined ? answer : wire.lie(subject, answer);
    } finally {
      wire.underWay -= 1;
    }
  };
  const proxy = new Proxy(connection, {
    get: (target, property) => {
      if (property === 'request') return request;
      if (property === 'flush')
        return async () => {
          if (wire.cut) throw new TimeoutError();
          await target.flush();
        };
      const member = Reflect.get(target, property, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  return { wire, connection: proxy };
}

const accepted = /** @type {const} */ ({ acknowledge: 'unsynced' });

/**
 * Answers of the server with the bytes of one record changed, as damage on its disk would.
 * @param {string} name
 * @param {number} seq
 * @returns {NonNullable<Wire['lie']>}
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
 * @param {{ adapter?: string, instead?: Wire['instead'] }} [options]
 * @returns {LedgerHarness}
 */
export function natsLedgerHarness(world, options = {}) {
  /** @type {WeakMap<Ledger, { prefix: string, wire: Wire }>} */
  const opened = new WeakMap();
  /** What is damaged is so for every view. @type {Map<string, NonNullable<Wire['lie']>>} */
  const damage = new Map();
  /** @param {string} prefix */
  const open = async (prefix) => {
    const { wire, connection } = wired(await world.connection);
    const { ledger } = await openNats(connection, { ...accepted, prefix, requestMilliseconds: 15_000 });
    wire.instead = options.instead;
    wire.lie = (subject, answer) => damage.get(prefix)?.(subject, answer) ?? answer;
    opened.set(ledger, { prefix, wire });
    return ledger;
  };
  /** @param {Ledger} ledger */
  const known = (ledger) => /** @type {{ prefix: string, wire: Wire }} */ (opened.get(ledger));
  return {
    adapter: options.adapter ?? 'nats',
    fresh: async () => await open(world.prefix()),
    reopen: async (ledger) => await open(known(ledger).prefix),
    crash: async (ledger) => await open(known(ledger).prefix),
    corrupt: async (ledger, name, seq) => {
      damage.set(known(ledger).prefix, damaged(name, seq));
    },
    loseReply: async (ledger, outcome) => {
      known(ledger).wire.lose = outcome;
    },
  };
}

const ttl = 600_000;

/**
 * Every view is a host with a clock of its own, which the suite moves; the server's ageing is done by hand.
 * @param {World} world
 * @param {{ adapter?: string, instead?: Wire['instead'] }} [options]
 * @returns {LeaserHarness}
 */
export function natsLeaserHarness(world, options = {}) {
  /** @typedef {{ prefix: string, wire: Wire, clock: ManualClock, stopped: boolean }} View */
  /** @type {Map<Leaser, View>} */
  const views = new Map();
  /** @param {string} prefix */
  const open = async (prefix) => {
    const clock = new ManualClock();
    const { wire, connection } = wired(await world.connection);
    const settings = { ...accepted, prefix, clock, ttlMilliseconds: ttl, requestMilliseconds: 15_000 };
    const { leaser } = await openNats(connection, settings);
    wire.instead = options.instead;
    views.set(leaser, { prefix, wire, clock, stopped: false });
    return leaser;
  };
  /** @param {Leaser} leaser */
  const viewOf = (leaser) => /** @type {View} */ (views.get(leaser));
  /** What the server does with a message whose time has run out. @param {string} prefix @param {string} [name] */
  const age = async (prefix, name) => {
    const filter = `${prefix}.lease.${name?.replaceAll('.', '=') ?? '*'}`;
    await (await world.manager()).streams.purge(`${prefix}-leases`, { filter });
  };
  const settled = async () => {
    while ([...views.values()].some((view) => view.wire.underWay > 0)) await yieldToEventLoop();
  };
  return {
    adapter: options.adapter ?? 'nats',
    fresh: async () => await open(world.prefix()),
    reopen: async (leaser) => await open(viewOf(leaser).prefix),
    expire: async (lease, leaser) => {
      const { clock, wire, prefix } = viewOf(leaser);
      await settled();
      wire.cut = true;
      await clock.advance(ttl);
      await age(prefix, lease.name);
      wire.cut = false;
    },
    suspend: async (lease, leaser) => {
      await age(viewOf(leaser).prefix, lease.name);
    },
    crash: async (leaser) => {
      const view = viewOf(leaser);
      await settled();
      view.stopped = true;
      view.wire.cut = true;
      await age(view.prefix);
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

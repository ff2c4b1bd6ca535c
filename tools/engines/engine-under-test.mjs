import { controlService } from '../services/control.mjs';
import { openTcpProxy } from '../services/tcp-proxy.mjs';

/**
 * What servers and wires do to an engine for ledgers and leases, whatever it is made of: the server is killed and started
 * again, connections are refused, cut, slowed and go silent. Whoever writes an adapter describes the engine; the same cases
 * run for all of them.
 *
 * @typedef {object} OpenedEngine
 * @property {import('@holdfast/journal').Ledger} [ledger]
 * @property {import('@holdfast/lease').Leaser} [leaser]
 * @property {() => Promise<void>} close Ends the storage and its client.
 */

/**
 * @typedef {object} OpenSettings Absent ones are those of the engine.
 * @property {number} [port] Where the server is reached: its own port, or that of a wire with faults.
 * @property {number} [ttlMilliseconds]
 * @property {number} [answerMilliseconds] After which no answer is waited for.
 */

/**
 * @typedef {object} EngineUnderTest
 * @property {string} service Its name in `services/registry.mjs`.
 * @property {number} port Where the server listens.
 * @property {() => Promise<string> | string} place Names a storage of its own.
 * @property {(place: string, settings: OpenSettings) => Promise<OpenedEngine>} open With a client of its own, which connects
 *   again by itself.
 * @property {number} shortestTtlMilliseconds
 * @property {(place: string) => Promise<void>} age Lets every lease run out, as if its holder had been stopped.
 * @property {(place: string) => Promise<number>} left How many things the server keeps for the ledgers of a place.
 * @property {readonly string[]} secrets What the clients of `open` are given and nobody may see.
 */

/** What a case opens, and closes at its end. @param {EngineUnderTest} engine */
function worldOf(engine) {
  /** @type {(() => Promise<unknown>)[]} */
  const cleanups = [];
  return {
    /** @param {string} place @param {OpenSettings} [settings] */
    open: async (place, settings = {}) => {
      const opened = await engine.open(place, settings);
      cleanups.push(async () => await opened.close().catch(() => undefined));
      return opened;
    },
    wire: async () => {
      const proxy = await openTcpProxy(engine.port);
      cleanups.push(async () => await proxy.close());
      return proxy;
    },
    close: async () => {
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    },
  };
}

/**
 * @param {EngineUnderTest} engine
 * @param {(world: ReturnType<typeof worldOf>) => Promise<void>} body
 */
export async function inWorld(engine, body) {
  const world = worldOf(engine);
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

/** @param {OpenedEngine} opened */
export const ledgerOf = (opened) => /** @type {import('@holdfast/journal').Ledger} */ (opened.ledger);
/** @param {OpenedEngine} opened */
export const leaserOf = (opened) => /** @type {import('@holdfast/lease').Leaser} */ (opened.leaser);

/**
 * How an engine can be away. Each returns what brings it back.
 * @type {Record<string, (engine: EngineUnderTest, proxy: import('../services/tcp-proxy.mjs').TcpProxy) => Promise<() => Promise<void>>>}
 */
export const outages = {
  'a server that is killed': async ({ service }) => {
    await controlService(service, 'kill');
    return async () => await controlService(service, 'restart');
  },
  'connections that are refused': async (_engine, proxy) => {
    proxy.refuse(true);
    return async () => proxy.refuse(false);
  },
  'answers that never come': async (_engine, proxy) => {
    proxy.silence(true);
    return async () => {
      proxy.silence(false);
      // What is open has lost its place in the conversation.
      proxy.cut();
    };
  },
};

import { randomHex, systemClock, systemRandom, throwIfAborted, withoutCredentials } from '@holdfast/base';
import { LeaseHeldError, Leaser, RenewedGrants } from '@holdfast/lease';

import { acquireScript, freeScript, holderScript, renewScript } from './scripts.mjs';

/** @typedef {import('@holdfast/lease').LeaserDriver} LeaserDriver */

/**
 * All that is asked of a client: to run a script in one step. `ioredis` has it as it is.
 * @typedef {object} RedisScripts
 * @property {(script: string, keys: number, ...keysAndValues: (string | number)[]) => Promise<unknown>} eval
 */

/**
 * @typedef {object} RedisLeaserOptions
 * @property {number} [ttlMilliseconds] After which a lease that is not renewed can be taken by others. Default 15,000.
 * @property {number} [answerMilliseconds] Longest wait for an answer. Default: a sixth of the time to live.
 * @property {string} [prefix] Begins every key. Default `holdfast:`.
 * @property {import('@holdfast/base').Clock} [clock]
 */

/** How long a waiter sleeps at most before it looks again, in milliseconds. */
const lookAgain = 100;

/**
 * Leases in Redis or Valkey. The client belongs to the caller, who closes it after the leaser.
 * @param {RedisScripts} client
 * @param {RedisLeaserOptions} [options]
 */
export function redisLeaser(client, options = {}) {
  return new Leaser(new RedisLeaserDriver(client, options));
}

/**
 * Two keys for each name: who has it, which the server forgets after the time to live, and the epoch, which it never does.
 * Every step is one script, so nothing comes in between.
 * @implements {LeaserDriver}
 */
export class RedisLeaserDriver {
  contract = /** @type {const} */ ('lease/1');
  supports = Object.freeze({ scope: /** @type {const} */ ('fleet'), durable: true });
  /** @type {RedisScripts} */
  #client;
  #clock;
  #ttl;
  #limit;
  #prefix;
  #grants;

  /**
   * @param {RedisScripts} client
   * @param {RedisLeaserOptions} options
   */
  constructor(client, options) {
    this.#client = client;
    this.#clock = options.clock ?? systemClock;
    this.#ttl = options.ttlMilliseconds ?? 15_000;
    this.#limit = options.answerMilliseconds ?? this.#ttl / 6;
    this.#prefix = options.prefix ?? 'holdfast:';
    this.#grants = new RenewedGrants({ ttlMilliseconds: this.#ttl, clock: this.#clock });
  }

  storagePaths() {
    return [];
  }

  /** @type {LeaserDriver['acquire']} */
  async acquire(name, { owner, above, signal }) {
    throwIfAborted(signal);
    const nonce = randomHex(systemRandom, 16);
    const sentAt = this.#clock.monotonic();
    const values = [nonce, above, JSON.stringify(owner), Math.ceil(this.#ttl)];
    // Repeated once when the answer is lost: the script recognises the nonce of a grant that was made.
    const answer = await this.#run(acquireScript, name, ...values).catch(
      async () => await this.#run(acquireScript, name, ...values),
    );
    const [granted, epoch, holder] = /** @type {[number, string, string]} */ (answer);
    if (granted === 0) throw new LeaseHeldError(name, Number(epoch), ownerOf(holder));
    const grant = this.#grants.begin({
      name,
      epoch: Number(epoch),
      sentAt,
      extend: async () => {
        const stands = Number(await this.#run(renewScript, name, nonce, Math.ceil(this.#ttl)));
        return stands === 1 ? 'stands' : stands === 0 ? 'expired' : 'taken-over';
      },
      free: async () => {
        await this.#run(freeScript, name, nonce);
      },
    });
    if (signal?.aborted !== true) return grant;
    await grant.release().catch(() => undefined);
    throw signal.reason;
  }

  /** @type {LeaserDriver['changed']} */
  async changed(name, { signal }) {
    const remaining = Number(await this.#run(holderScript, name));
    if (remaining <= 0) return;
    await this.#clock.sleep(Math.min(remaining + 1, lookAgain), { signal });
  }

  async close() {
    await this.#grants.close();
  }

  /**
   * @param {string} script
   * @param {string} name
   * @param {(string | number)[]} values
   * @returns {Promise<unknown>}
   */
  async #run(script, name, ...values) {
    // The braces put both keys on one server of a cluster.
    const keys = [`${this.#prefix}{${name}}:holder`, `${this.#prefix}{${name}}:epoch`];
    return await new Promise((resolve, reject) => {
      const timer = this.#clock.schedule(this.#limit, () => {
        reject(Object.assign(new Error(`no answer within ${this.#limit} ms`), { retryable: true }));
      });
      this.#client
        .eval(script, keys.length, ...keys, ...values)
        .then(resolve, (/** @type {unknown} */ error) => {
          reject(withoutCommand(error));
        })
        .finally(() => {
          timer[Symbol.dispose]();
        });
    });
  }
}

/**
 * Clients attach the command to their errors, and with it everything that was sent.
 * @param {unknown} error
 */
function withoutCommand(error) {
  const { message, code } = /** @type {{ message?: unknown, code?: unknown }} */ (error ?? {});
  // What the server says (`ERR …`, `NOAUTH …`) does not pass by itself; everything else is the connection.
  const said = typeof message === 'string' && /^[A-Z]+ /.test(message);
  const passes = !said || /^(?:LOADING|BUSY|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY) /.test(message);
  return Object.assign(new Error(withoutCredentials(error)), { code, retryable: passes });
}

/** @param {string} text */
function ownerOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

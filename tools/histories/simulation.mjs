import { seededRandom } from '@holdfast/base/testing';

/** @typedef {import('@holdfast/base/testing').SeededRandom} SeededRandom */

/**
 * Lets clients run beside each other in an order that a seed decides: each waits for its turn before and after every
 * call of a driver, and whoever waits is picked by lot. Nothing else in a simulation waits for time.
 */
export class Simulation {
  /** @type {(() => void)[]} */
  #waiting = [];
  #running = 0;
  /** @type {SeededRandom} */
  random;

  /** @param {number} seed */
  constructor(seed) {
    this.random = seededRandom(seed);
  }

  /** Waits until it is this client's turn. */
  async turn() {
    await new Promise((/** @type {(value: void) => void} */ resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /**
   * Runs clients to their ends.
   * @param {readonly (() => Promise<void>)[]} clients
   */
  async run(clients) {
    this.#running = clients.length;
    const ended = clients.map(async (client) => {
      try {
        await this.turn();
        await client();
      } finally {
        this.#running -= 1;
      }
    });
    while (this.#running > 0) {
      // Everything that does not wait for its turn goes on first.
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#waiting.splice(this.random.below(Math.max(1, this.#waiting.length)), 1)[0];
      next?.();
    }
    await Promise.all(ended);
  }
}

/**
 * Puts turns around the asynchronous methods of a driver.
 * @template {object} Driver
 * @param {Driver} driver
 * @param {Simulation} simulation
 * @param {readonly string[]} methods
 * @returns {Driver}
 */
export function inTurns(driver, simulation, methods) {
  return new Proxy(driver, {
    get: (target, property) => {
      const value = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      if (!methods.includes(String(property))) return value.bind(target);
      return async (/** @type {unknown[]} */ ...args) => {
        await simulation.turn();
        try {
          return await value.apply(target, args);
        } finally {
          await simulation.turn();
        }
      };
    },
  });
}

import { setTimeout as sleep } from 'node:timers/promises';

import { ended, until } from './server-process.mjs';

/**
 * A server program that tests kill and start again.
 * @typedef {object} KeptServer
 * @property {() => Promise<void>} kill Kills it as a crash does (SIGKILL), keeping its data. Nothing happens when it is
 *   not there.
 * @property {() => Promise<void>} restart Starts it again and resolves when it serves. Nothing happens when it serves.
 * @property {(signal: NodeJS.Signals) => Promise<void>} end Ends it for good. Idempotent.
 */

const pauseBetweenStartsMs = 500;

/**
 * Starts a server and resolves when it serves. A program that ends instead is started again a number of times: what a
 * killed server leaves (its children, their shared memory, its port) can be in the way of the next one for a while.
 * @param {object} options
 * @param {string} options.name For error messages.
 * @param {() => import('./server-process.mjs').ServerProcess} options.start
 * @param {() => Promise<boolean>} options.serves
 * @param {string} options.log The error of a start that fails ends with the last lines of this file.
 * @param {number} [options.attempts] How often the program may be started until it serves.
 * @returns {Promise<KeptServer>}
 */
export async function keepServer({ name, start, serves, log, attempts = 120 }) {
  const launch = async () => {
    for (let attempt = 1; ; attempt += 1) {
      const child = start();
      try {
        await until(name, serves, { process: child, log });
        // Another program may answer at its port, while this one has ended because it could not have it.
        if (child.running()) return child;
        throw ended(name, log);
      } catch (error) {
        if (child.running() || attempt >= attempts) {
          await child.end('SIGKILL');
          throw error;
        }
        await sleep(pauseBetweenStartsMs);
      }
    }
  };
  let server = await launch();
  let over = false;
  return {
    kill: async () => {
      await server.end('SIGKILL');
    },
    restart: async () => {
      if (over) throw new Error(`${name} was ended for good`);
      if (!server.running()) server = await launch();
    },
    end: async (signal) => {
      over = true;
      await server.end(signal);
    },
  };
}

import * as nats from './nats.mjs';
import * as postgres from './postgres.mjs';
import * as redis from './redis.mjs';
import * as s3 from './s3.mjs';

/**
 * A server that runs.
 * @typedef {object} RunningService
 * @property {Record<string, string>} env How tests reach it: variables that begin with `HOLDFAST_`.
 * @property {string} version What runs, for the record of the run.
 * @property {() => Promise<void>} kill Kills the server as a crash does (SIGKILL), keeping its data.
 * @property {() => Promise<void>} restart Starts a killed server again: same port, same data. Resolves when it serves.
 *   Nothing happens when it runs.
 * @property {() => Promise<void>} stop Ends everything that was started. Idempotent.
 */

/**
 * A kind of server that tests need. One module each, with these exports.
 * @typedef {object} Service
 * @property {readonly string[]} debianPackages What `apt-get install` has to bring.
 * @property {() => string | undefined} missing The first program that is not there; `undefined` when all are.
 * @property {(directory: string) => Promise<RunningService>} start Starts it on free loopback ports with its data in the
 *   given empty directory. Waits are bounded; what was started is ended when it fails.
 */

/** @type {Readonly<Record<string, Service>>} */
export const services = { s3, postgres, nats, redis };

import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A program that runs until it is told to stop.
 * @typedef {object} ServerProcess
 * @property {number} pid
 * @property {() => boolean} running
 * @property {(signal: NodeJS.Signals) => Promise<void>} end Sends the signal and waits until the process is gone; SIGKILL
 *   follows after ten seconds.
 */

/**
 * Starts a server program in the foreground, with its output in a file.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ log: string, env?: NodeJS.ProcessEnv, uid?: number, gid?: number, cwd?: string }} options
 * @returns {ServerProcess}
 */
export function startProcess(command, args, options) {
  const log = openSync(options.log, 'a', 0o600);
  const { env, uid, gid, cwd } = options;
  const child = spawn(command, args, {
    stdio: ['ignore', log, log],
    // A group of its own: Ctrl-C reaches the runner alone, which then stops the servers in order.
    detached: true,
    ...(env === undefined ? {} : { env }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    ...(cwd === undefined ? {} : { cwd }),
  });
  closeSync(log);
  let running = true;
  /** @type {Promise<void>} */
  const gone = new Promise((resolve) => {
    const finish = () => {
      running = false;
      resolve();
    };
    child.once('error', finish);
    child.once('exit', finish);
  });
  return {
    pid: child.pid ?? 0,
    running: () => running,
    end: async (signal) => {
      if (!running) return;
      child.kill(signal);
      const harder = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await gone;
      clearTimeout(harder);
    },
  };
}

/**
 * Ports that no kernel of ours gives to outgoing connections by itself (Linux begins at 32768). From among those a
 * connection to whatever else could have the port of a server that is down for a moment, even one that is looking for
 * that very server: it would then be connected to itself.
 */
const firstPort = 20_000;
const lastPort = 32_000;

/** Not given twice by one process: who asks for several starts to listen only afterwards. @type {Set<number>} */
const given = new Set();

/**
 * A loopback port that nothing listens on now, and that stays free while its server is down.
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const port = randomInt(firstPort, lastPort);
    if (!given.has(port) && (await canListen(port))) {
      given.add(port);
      return port;
    }
  }
  throw new Error(`no free port was found between ${firstPort} and ${lastPort}`);
}

/** @param {number} port @returns {Promise<boolean>} */
async function canListen(port) {
  return await new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => {
      server.close(() => resolve(true));
    });
  });
}

/** What one look may count for: when the whole machine stands still for a while, the server has had no time either. */
const longestStepMs = 5_000;

/**
 * Waits until `condition` holds. Gives up at once when the server process is gone, and after the time limit; the error
 * ends with the last lines of the server's log.
 * @param {string} what
 * @param {() => boolean | Promise<boolean>} condition
 * @param {{ limitMs?: number, process?: ServerProcess, log?: string }} [options]
 */
export async function until(what, condition, options = {}) {
  const limitMs = options.limitMs ?? 120_000;
  let waitedMs = 0;
  for (;;) {
    const begun = performance.now();
    if (await condition()) return;
    const died = options.process !== undefined && !options.process.running();
    if (died) throw ended(what, options.log);
    if (waitedMs > limitMs) throw failure(what, `not within ${limitMs} ms`, options.log);
    await sleep(50);
    waitedMs += Math.min(performance.now() - begun, longestStepMs);
  }
}

/**
 * The error for a server that ends instead of serving.
 * @param {string} what
 * @param {string} [log]
 */
export const ended = (what, log) => failure(what, 'the server has ended', log);

/** @param {string} what @param {string} why @param {string} [log] */
function failure(what, why, log) {
  return new Error(`${what}: ${why}${log === undefined ? '' : `\n${lastLines(log)}`}`);
}

/**
 * Whether something accepts connections on a loopback port.
 * @param {number} port
 * @returns {Promise<boolean>}
 */
export async function accepts(port) {
  return await new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const finish = (/** @type {boolean} */ ok) => {
      socket.destroy();
      resolve(ok);
    };
    socket.once('connect', () => {
      finish(true);
    });
    socket.once('error', () => {
      finish(false);
    });
  });
}

/**
 * The file of a program: on the search path, or in the directories where distributions keep servers.
 * @param {string} name
 * @param {readonly string[]} [more] Further directories, looked at first.
 * @returns {string | undefined}
 */
export function findProgram(name, more = []) {
  const searchPath = (process.env['PATH'] ?? '').split(path.delimiter);
  for (const directory of [...more, ...searchPath, '/usr/local/sbin', '/usr/sbin', '/sbin']) {
    const file = path.join(directory, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // The next one.
    }
  }
  return undefined;
}

/** @param {string} file */
function lastLines(file) {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-20).join('\n');
  } catch {
    return '';
  }
}

import { fork } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { repositoryRoot } from '../../shared/workspace.mjs';
import { must, timed } from '../timed.mjs';
import { Stores } from './stores.mjs';

/** @typedef {import('../timed.mjs').Measure} Measure */

const program = fileURLToPath(new URL('holdfast-host.mjs', import.meta.url));

/** A process with one open store. */
export class HoldfastHost {
  #child;

  /**
   * @param {string} base
   * @param {string} work
   */
  constructor(base, work) {
    mkdirSync(base, { recursive: true });
    this.#child = fork(program, [base, work], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }

  /**
   * @param {string} call
   * @param {unknown} [argument]
   * @returns {Promise<Measure>}
   */
  async call(call, argument) {
    return await new Promise((resolve, reject) => {
      /** @param {{ measure: Measure, error?: string }} reply */
      const onMessage = ({ measure, error }) => {
        this.#child.off('exit', onExit);
        if (error === undefined) resolve(measure);
        else reject(new Error(error));
      };
      const onExit = () => {
        reject(new Error(`the process that measures Holdfast ended during ${call}`));
      };
      this.#child.once('message', onMessage);
      this.#child.once('exit', onExit);
      this.#child.send({ call, argument });
    });
  }

  async close() {
    await this.call('close');
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.disconnect();
    await ended;
  }
}

/**
 * The library in a living process.
 * @type {import('./peer.mjs').Peer}
 */
export const holdfast = {
  name: 'holdfast',
  exact: true,
  about: 'the library, in process, durable and verified',
  missing: () => undefined,
  open: (place) => {
    const stores = new Stores(place.base);
    /** @type {HoldfastHost | undefined} */
    let host;
    /** @param {string} call @param {unknown} [argument] */
    const call = async (call, argument) => await /** @type {HoldfastHost} */ (host).call(call, argument);
    return {
      first: async () => {
        await host?.close();
        host = new HoldfastHost(stores.next(), place.work);
        return await host.call('first');
      },
      snapshot: () => call('snapshot'),
      restore: (destination) => call('restore', destination),
      plan: () => call('plan'),
      rewind: () => call('rewind'),
      rewindSafely: () => call('rewindSafely'),
      rewindInParts: () => call('rewindInParts'),
      store: () => path.join(stores.current, 'blobs'),
      close: async () => {
        await host?.close();
        host = undefined;
      },
    };
  },
};

/**
 * The command: a process for every step, with leases, journals and the safety checkpoint of every restore.
 * @type {import('./peer.mjs').Peer}
 */
export const holdfastCommand = {
  name: 'holdfast command',
  exact: true,
  about: 'the command, a process for every step, with leases, journal and (rewind) safety checkpoint',
  missing: () => undefined,
  open: (place) => {
    const command = path.join(repositoryRoot, 'node_modules', '.bin', 'holdfast');
    const stores = new Stores(place.base);
    let ref = '';
    /** @param {readonly string[]} args */
    const line = (args) => [command, ...args, '--home', stores.current];
    const options = { cwd: place.base, scratch: place.base };
    const snapshot = () => timed(line(['snapshot', place.work]), options);
    // The same tree has the same ref: asking for it again changes nothing.
    const lookUp = () => {
      ref = JSON.parse(must(line(['snapshot', place.work, '--json']), options)).ref;
    };
    return {
      first: () => {
        stores.next();
        const measure = snapshot();
        lookUp();
        return measure;
      },
      snapshot: () => {
        const measure = snapshot();
        lookUp();
        return measure;
      },
      restore: (destination) => timed(line(['materialize', ref, destination]), options),
      plan: () => timed(line(['restore', ref, place.work, '--dry-run']), options),
      rewind: () => timed(line(['restore', ref, place.work, '--yes']), options),
      store: () => stores.current,
      close: () => undefined,
    };
  },
};

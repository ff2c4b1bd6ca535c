import { ForwardingFileSystem } from '@holdfast/durable/testing';

/** Measures how long at least one sync was running. */
export class SyncStopwatch extends ForwardingFileSystem {
  seconds = 0;
  #running = 0;
  #since = 0;

  /**
   * @template T
   * @param {import('@holdfast/durable/testing').FileSystemCall} call
   * @param {() => T} run
   * @returns {T}
   */
  around(call, run) {
    return call.operation === 'sync' ? this.during(run) : run();
  }

  /**
   * @template T
   * @param {() => T} run
   * @returns {T}
   */
  during(run) {
    if (this.#running === 0) this.#since = performance.now();
    this.#running += 1;
    const done = () => {
      this.#running -= 1;
      if (this.#running === 0) this.seconds += (performance.now() - this.#since) / 1000;
    };
    let result;
    try {
      result = run();
    } catch (error) {
      done();
      throw error;
    }
    if (result instanceof Promise) return /** @type {T} */ (result.finally(done));
    done();
    return result;
  }
}

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** Everything that a logger could find in an error, whatever it does with it. @param {unknown} error */
export function everythingIn(error) {
  const stack = error instanceof Error ? error.stack : '';
  const shown = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true });
  return `${shown} ${JSON.stringify(error)} ${stack}`;
}

/**
 * What the operations of an engine answer while it is away. Each error must be one of the contract, say that trying again
 * may help or that nobody knows what happened, and show no secret.
 */
export class Outcomes {
  #family;
  #secrets;

  /**
   * @param {'JOURNAL' | 'LEASE' | 'BLOBS'} family Begins the codes of the contract.
   * @param {readonly string[]} secrets
   */
  constructor(family, secrets) {
    this.#family = family;
    this.#secrets = secrets;
  }

  /** @param {string} operation @param {() => Promise<unknown>} run */
  async expectFailure(operation, run) {
    let answer;
    try {
      answer = await run();
    } catch (error) {
      this.check(operation, error);
      return;
    }
    assert.fail(`${operation} succeeded without its engine: ${inspect(answer)}`);
  }

  /** @param {string} operation @param {any} error @returns {undefined} */
  check(operation, error) {
    const what = `${operation}: ${inspect(error)}`;
    const family = this.#family;
    const known = [`${family}_BACKEND`, `${family}_AMBIGUOUS`, `${family}_APPEND_VERIFY`];
    assert.ok(known.includes(error?.code), what);
    if (error.code === `${family}_BACKEND`) assert.equal(error.retryable, true, what);
    else assert.equal(error.effect, 'unknown', what);
    const shown = everythingIn(error);
    for (const secret of this.#secrets) assert.ok(!shown.includes(secret), `${operation} shows a secret`);
    return undefined;
  }

  /**
   * Tries until it succeeds, as who waits for the end of an outage does.
   * @template T
   * @param {string} operation
   * @param {() => Promise<T>} run
   * @returns {Promise<T>}
   */
  async untilDone(operation, run) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await run();
      } catch (error) {
        this.check(operation, error);
        assert.ok(tries < 200, `${operation} goes on failing: ${inspect(error)}`);
        await sleep(50);
      }
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Opens what a writer needs, which may be started while the server is away.
 * @template T
 * @param {() => Promise<T>} open
 * @returns {Promise<T>}
 */
export async function openWhenThere(open) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await open();
    } catch (error) {
      if (tries === 40 || /** @type {{ retryable?: unknown }} */ (error).retryable !== true) throw error;
      await sleep(250);
    }
  }
}

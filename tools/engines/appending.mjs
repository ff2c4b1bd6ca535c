import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {import('@holdfast/journal').Ledger} Ledger */

/** More failures than any fault explains. */
const mostFailures = 2_000;

/** @param {number} at */
export function textRecord(at) {
  return new TextEncoder().encode(`record ${at}`);
}

/**
 * Makes the ledger hold the records 1 to `count`, which carry their numbers, through whatever happens: tries again after
 * every failure that says that it may pass, and looks where the end is after one that says that nobody knows.
 * @param {Ledger} ledger
 * @param {string} name
 * @param {number} count
 * @param {() => Promise<unknown>} between Called before each record.
 * @returns {Promise<number>} How many attempts failed.
 */
export async function appendThrough(ledger, name, count, between) {
  let failures = 0;
  /** @type {number | undefined} */
  let tip;
  for (let at = 1; at <= count; at += 1) {
    await between();
    while (tip === undefined || tip < at) {
      try {
        tip ??= await ledger.tip(name);
        if (tip < at) tip = (await ledger.appendDefinite(name, tip, [textRecord(tip + 1)])).tip;
      } catch (error) {
        failures += 1;
        assert.ok(
          failures < mostFailures,
          `${failures} attempts have failed, the last one with ${String(error)}`,
        );
        if (!maySucceedLater(error)) throw error;
        await sleep(20);
        // It may have landed.
        tip = undefined;
      }
    }
  }
  return failures;
}

/**
 * @param {Ledger} ledger
 * @param {string} name
 * @param {number} count
 */
export async function expectExactlyOnce(ledger, name, count) {
  const found = [];
  for await (const { data } of ledger.read(name)) found.push(new TextDecoder().decode(data));
  assert.deepEqual(
    found,
    Array.from({ length: count }, (_, at) => `record ${at + 1}`),
  );
}

/** @param {unknown} error */
function maySucceedLater(error) {
  const { code, retryable } = /** @type {{ code?: unknown, retryable?: unknown }} */ (error ?? {});
  return retryable === true || code === 'JOURNAL_APPEND_VERIFY' || code === 'JOURNAL_CONFLICT';
}

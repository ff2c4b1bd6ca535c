// One writer of a take-over campaign: opens its session whenever it can, appends until it is stopped, killed or shut out,
// and again. Reports each acknowledged append. Arguments: module of the engine, session, name of the writer, "reckless" or
// "careful", seed of its pauses.
import { setTimeout as sleep } from 'node:timers/promises';

import { seededRandom } from '@holdfast/base/testing';
import { memoryBlobs } from '@holdfast/blobs';
import { AppendVerifyError, JournalFencedError, LedgerConflictError, SessionStore } from '@holdfast/journal';
import { LeaseHeldError, LeaseLostError, Leaser } from '@holdfast/lease';

import { openEngineOf } from './campaign.mjs';

const [engineModule = '', session = '', writer = '', manner = '', seed = ''] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const engine = await openEngineOf(engineModule, process.env);
const store = await SessionStore.open({
  ledgers: engine.ledgers,
  leaser: manner === 'reckless' ? reckless(engine.leaser) : engine.leaser,
  blobs: memoryBlobs(),
});

/** @param {object} message One write for each line, so that a kill cuts between lines. */
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
process.once('SIGTERM', () => process.exit(0));

let count = 0;
for (;;) {
  let journal;
  try {
    journal = await store.open(session);
  } catch (error) {
    // Somebody has it, or was faster, or the server is away: definite refusals, all of them.
    if (!isExpected(error)) throw error;
    await sleep(20 + random.next() * 40);
    continue;
  }
  say({ opened: journal.epoch });
  try {
    for (;;) {
      count += 1;
      const id = `${writer}-${count}`;
      const { seq } = await journal.append({ type: 'note', id, body: { id } });
      say({ acknowledged: id, seq, epoch: journal.epoch });
      if (random.next() < 0.2) await sleep(random.next() * 20);
    }
  } catch (error) {
    if (!isExpected(error)) throw error;
    say({ shutOut: codeOf(error), epoch: journal.epoch });
  }
  await journal.close().catch(() => undefined);
  await sleep(random.next() * 40);
}

/** @param {unknown} error */
function isExpected(error) {
  return (
    LeaseHeldError.is(error) ||
    LeaseLostError.is(error) ||
    JournalFencedError.is(error) ||
    LedgerConflictError.is(error) ||
    AppendVerifyError.is(error) ||
    /** @type {{ retryable?: unknown } | undefined} */ (error)?.retryable === true
  );
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {{ code?: unknown } | undefined} */ (error)?.code;
}

/**
 * A leaser whose leases are never lost, as far as their holders hear: only the journal's fence is left to keep order.
 * @param {Leaser} leaser
 */
function reckless(leaser) {
  const { driver } = leaser;
  return new Leaser({
    contract: driver.contract,
    supports: driver.supports,
    storagePaths: () => driver.storagePaths(),
    acquire: async (name, options) => {
      const grant = await driver.acquire(name, options);
      return {
        epoch: grant.epoch,
        lost: new AbortController().signal,
        expiresIn: () => Number.POSITIVE_INFINITY,
        check: async () => true,
        release: async () => await grant.release(),
      };
    },
    changed: async (name, options) => await driver.changed(name, options),
    close: async () => await driver.close(),
  });
}

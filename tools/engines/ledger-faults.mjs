import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { seededRandom } from '@holdfast/base/testing';

import { controlService } from '../services/control.mjs';
import { appendThrough, expectExactlyOnce, textRecord } from './appending.mjs';
import { inWorld, ledgerOf, outages } from './engine-under-test.mjs';
import { Outcomes } from './outcomes.mjs';

/** @typedef {import('./engine-under-test.mjs').EngineUnderTest} EngineUnderTest */

const seed = Number(process.env['HOLDFAST_SEED'] ?? Date.now() % 1_000_000);
const large = new Uint8Array(100_000).fill(7);

/**
 * @param {import('@holdfast/base/testing').TestRunner} runner
 * @param {EngineUnderTest} engine
 */
export function testLedgerFaults(runner, engine) {
  runner.describe(`ledgers of ${engine.service} through faults (HOLDFAST_SEED=${seed})`, () => {
    runner.it(
      'a server that is killed and comes back has everything that it acknowledged, once',
      async () => {
        await inWorld(engine, async ({ open }) => {
          const random = seededRandom(seed);
          const ledger = ledgerOf(await open(await engine.place(), { answerMilliseconds: 2_000 }));
          // So many times, however slow the machine is.
          const kills = new Set(Array.from({ length: 5 }, (_, at) => 60 * at + 1 + random.below(59)));
          /** @type {Promise<void> | undefined} */
          let killing;
          const kill = async () => {
            await sleep(random.next() * 10);
            await controlService(engine.service, 'kill');
            await controlService(engine.service, 'restart');
          };
          let at = 0;
          await appendThrough(ledger, 'log', 300, async () => {
            at += 1;
            if (!kills.has(at)) return;
            await killing;
            // Beside what is written meanwhile.
            killing = kill();
            killing.catch(() => undefined);
          });
          await killing;
          await expectExactlyOnce(ledger, 'log', 300);
        });
      },
    );

    runner.it('connections that are cut before, while and after the server works', async () => {
      await inWorld(engine, async ({ open, wire }) => {
        const random = seededRandom(seed);
        const proxy = await wire();
        const settings = { port: proxy.port, answerMilliseconds: 400 };
        const ledger = ledgerOf(await open(await engine.place(), settings));
        const outcomes = new Outcomes('JOURNAL', engine.secrets);
        let faults = 0;
        await appendThrough(ledger, 'log', 120, async () => {
          const dice = random.next();
          if (dice > 0.3) return;
          faults += 1;
          if (dice < 0.1) proxy.cutResponsesAfter(random.below(60));
          else if (dice < 0.2) proxy.cutRequestsAfter(random.below(600));
          else proxy.cut();
        });
        assert.ok(faults > 10);
        assert.ok(proxy.connections() > 10);
        // What the last appends did not use up would hit the look at what is stored.
        proxy.cutResponsesAfter(Infinity);
        proxy.cutRequestsAfter(Infinity);
        await outcomes.untilDone('read', async () => await ledger.tip('log'));
        await expectExactlyOnce(ledger, 'log', 120);
      });
    });

    runner.it('a slow line is slow, and nothing else', async () => {
      await inWorld(engine, async ({ open, wire }) => {
        const proxy = await wire();
        const ledger = ledgerOf(await open(await engine.place(), { port: proxy.port }));
        proxy.slow(200_000);
        await ledger.append('log', 0, [large, large]);
        const sizes = [];
        for await (const { data } of ledger.read('log')) sizes.push(data.length);
        assert.deepEqual(sizes, [large.length, large.length]);
      });
    });

    runner.it(
      'an answer that never comes is an unknown outcome, and is settled when the line is back',
      async () => {
        await inWorld(engine, async ({ open, wire }) => {
          const proxy = await wire();
          const settings = { port: proxy.port, answerMilliseconds: 1_000 };
          const ledger = ledgerOf(await open(await engine.place(), settings));
          await ledger.tip('log');
          const back = await /** @type {any} */ (outages)['answers that never come'](engine, proxy);
          const found = await ledger
            .append('log', 0, [textRecord(1)])
            .catch((/** @type {any} */ error) => error);
          assert.deepEqual([found.code, found.effect], ['JOURNAL_AMBIGUOUS', 'unknown']);
          await back();
          await appendThrough(ledger, 'log', 1, async () => undefined);
          await expectExactlyOnce(ledger, 'log', 1);
        });
      },
    );

    for (const [outage, begin] of Object.entries(outages)) {
      runner.it(`${outage}: every operation says what is known, and works when it is over`, async () => {
        await inWorld(engine, async ({ open, wire }) => {
          const proxy = await wire();
          const place = await engine.place();
          const settings = { port: proxy.port, answerMilliseconds: 1_000 };
          const ledger = ledgerOf(await open(place, settings));
          for (const name of ['kept', 'gone']) await ledger.append(name, 0, [textRecord(1)]);
          const following = new AbortController();
          const follower = ledger.follow('kept', { from: 2, signal: following.signal });
          const followed = follower.next();
          followed.catch(() => undefined);
          const outcomes = new Outcomes('JOURNAL', engine.secrets);
          const operations = {
            tip: async () => await ledger.tip('kept'),
            read: async () => await all(ledger.read('kept')),
            list: async () => await all(ledger.list()),
            append: async () => await ledger.append('kept', 1, [textRecord(2)]),
            appendDefinite: async () => await ledger.appendDefinite('new', 0, [textRecord(1)]),
            delete: async () => await ledger.delete('gone'),
          };
          const back = await begin(engine, proxy);
          try {
            for (const [operation, run] of Object.entries(operations))
              await outcomes.expectFailure(operation, run);
          } finally {
            await back();
          }
          // Nobody opens anything again: the same ledger goes on.
          await appendThrough(ledger, 'kept', 2, async () => undefined);
          await expectExactlyOnce(ledger, 'kept', 2);
          await appendThrough(ledger, 'new', 1, async () => undefined);
          await expectExactlyOnce(ledger, 'new', 1);
          await outcomes.untilDone('delete', operations.delete);
          assert.deepEqual(await all(ledger.list()), ['kept', 'new']);
          // A follower goes on, or ends with an error that says it may be begun again.
          const end = await followed.then(
            ({ value }) => value?.seq,
            (error) => outcomes.check('follow', error),
          );
          assert.ok(end === 2 || end === undefined);
          following.abort();
        });
      });
    }

    runner.it('appends that race deletions leave nothing behind', async () => {
      await inWorld(engine, async ({ open }) => {
        const place = await engine.place();
        const ledger = ledgerOf(await open(place));
        let [deleting, appended] = [true, 0];
        const deleter = (async () => {
          while (deleting) {
            await ledger.delete('log');
            await sleep(1);
          }
        })();
        /** @param {number} writer */
        const write = async (writer) => {
          for (let round = 0; round < 60; round += 1) {
            // Large ones, which an engine may store in another way, and small ones.
            const record =
              writer === 1 && round % 5 === 0 ? new Uint8Array(300_000).fill(1) : textRecord(round);
            try {
              await ledger.append('log', await ledger.tip('log'), [record, record]);
              appended += 1;
            } catch (error) {
              if (codeOf(error) !== 'JOURNAL_CONFLICT') throw error;
            }
            try {
              let expected = 1;
              for await (const { seq } of ledger.read('log')) {
                assert.equal(seq, expected);
                expected += 1;
              }
            } catch (error) {
              if (codeOf(error) !== 'JOURNAL_LEDGER_DELETED') throw error;
            }
          }
        };
        try {
          await Promise.all([1, 2, 3].map(write));
        } finally {
          deleting = false;
          await deleter;
        }
        await ledger.delete('log');
        assert.ok(appended > 10);
        assert.equal(await engine.left(place), 0);
      });
    });
  });
}

/**
 * @template T
 * @param {AsyncIterable<T>} items
 */
async function all(items) {
  /** @type {T[]} */
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {{ code?: unknown } | undefined} */ (error)?.code;
}

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { controlService } from '../services/control.mjs';
import { inWorld, leaserOf, outages } from './engine-under-test.mjs';
import { Outcomes } from './outcomes.mjs';

/** @typedef {import('./engine-under-test.mjs').EngineUnderTest} EngineUnderTest */

/**
 * @param {import('@holdfast/base/testing').TestRunner} runner
 * @param {EngineUnderTest} engine
 */
export function testLeaserFaults(runner, engine) {
  const forever = 600_000;
  runner.describe(`leases of ${engine.service} through faults`, () => {
    runner.it('a holder that is cut off knows before others can get the name, by real clocks', async () => {
      await inWorld(engine, async ({ open, wire }) => {
        const proxy = await wire();
        const place = await engine.place();
        const settings = { ttlMilliseconds: engine.shortestTtlMilliseconds * 1.5, answerMilliseconds: 300 };
        const cut = leaserOf(await open(place, { ...settings, port: proxy.port }));
        const other = leaserOf(await open(place, settings));
        const lease = await cut.acquire('name');
        let lostAt = 0;
        lease.signal.addEventListener('abort', () => {
          lostAt = performance.now();
        });
        const waiting = other
          .acquire('name', { wait: true })
          .then((next) => ({ next, at: performance.now() }));
        proxy.refuse(true);
        const { next, at } = await waiting;
        assert.ok(next.epoch > lease.epoch);
        assert.ok(lostAt > 0 && lostAt < at, `lost at ${lostAt}, granted to another one at ${at}`);
        assert.equal(lease.signal.reason.kind, 'self-fenced');
        proxy.refuse(false);
      });
    });

    runner.it('a lease is kept for as long as its holder renews it, by the clock of the server', async () => {
      await inWorld(engine, async ({ open }) => {
        const place = await engine.place();
        // A machine that stands still for two thirds of it loses the lease rightly.
        const settings = { ttlMilliseconds: engine.shortestTtlMilliseconds * 6 };
        const [mine, other] = [leaserOf(await open(place, settings)), leaserOf(await open(place, settings))];
        const lease = await mine.acquire('name');
        await sleep(settings.ttlMilliseconds * 1.5);
        await assert.rejects(other.acquire('name'), { code: 'LEASE_HELD' });
        await lease.check();
        assert.equal(lease.held, true);
      });
    });

    runner.it('a holder that was overtaken hears it', async () => {
      await inWorld(engine, async ({ open }) => {
        const place = await engine.place();
        const settings = { ttlMilliseconds: forever };
        const [first, second] = [
          leaserOf(await open(place, settings)),
          leaserOf(await open(place, settings)),
        ];
        const lease = await first.acquire('name');
        await engine.age(place);
        const next = await second.acquire('name');
        await assert.rejects(lease.check(), { code: 'LEASE_LOST', kind: 'taken-over' });
        assert.equal(lease.held, false);
        await lease.release();
        await next.check();
      });
    });

    runner.it('a server that is killed knows the epochs when it is back', async () => {
      await inWorld(engine, async ({ open }) => {
        const leaser = leaserOf(
          await open(await engine.place(), { ttlMilliseconds: forever, answerMilliseconds: 2_000 }),
        );
        const outcomes = new Outcomes('LEASE', engine.secrets);
        let epoch = 0;
        for (let round = 0; round < 3; round += 1) {
          const lease = await outcomes.untilDone('acquire', async () => await leaser.acquire('name'));
          assert.ok(lease.epoch > epoch, `epoch ${lease.epoch} after ${epoch}`);
          epoch = lease.epoch;
          await lease.release();
          await controlService(engine.service, 'kill');
          await controlService(engine.service, 'restart');
        }
      });
    });

    for (const [outage, begin] of Object.entries(outages)) {
      runner.it(`${outage}: every operation says what is known, and works when it is over`, async () => {
        await inWorld(engine, async ({ open, wire }) => {
          const proxy = await wire();
          const place = await engine.place();
          const settings = { port: proxy.port, ttlMilliseconds: forever, answerMilliseconds: 1_000 };
          const leaser = leaserOf(await open(place, settings));
          const outcomes = new Outcomes('LEASE', engine.secrets);
          const [held, given] = [await leaser.acquire('held'), await leaser.acquire('given')];
          const operations = {
            acquire: async () => await leaser.acquire('free'),
            wait: async () => await leaser.acquire('held', { wait: true }),
            check: async () => await held.check(),
            release: async () => await given.release(),
          };
          const back = await begin(engine, proxy);
          try {
            for (const [operation, run] of Object.entries(operations))
              await outcomes.expectFailure(operation, run);
          } finally {
            await back();
          }
          // An outage shorter than the time to live costs nobody anything.
          await outcomes.untilDone('check', operations.check);
          assert.equal(held.held, true);
          // What was asked for without an answer may have been granted, and then goes when its time is over.
          await engine.age(place);
          for (const name of ['free', 'given']) {
            const lease = await outcomes.untilDone('acquire', async () => await leaser.acquire(name));
            assert.ok(lease.epoch >= 1);
            await lease.release();
          }
        });
      });
    }
  });
}

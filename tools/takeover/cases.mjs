import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { countForCampaign } from '../campaign/count.mjs';
import { controlService } from '../services/control.mjs';
import { describeCampaign, runTakeovers, wantedTakeovers } from './campaign.mjs';

const longestMilliseconds = 3_600_000;

/**
 * The take-over campaigns of an engine whose server is `service`.
 * @param {(name: string, body: () => Promise<void>, milliseconds: number) => unknown} it Of vitest, or what passes the time
 *   limit on to another runner.
 * @param {object} options
 * @param {string} options.service Its name in `services/registry.mjs`.
 * @param {string} options.engine File URL of a module that exports `openEngine()`.
 * @param {() => Promise<NodeJS.ProcessEnv> | NodeJS.ProcessEnv} options.environment Names a storage of its own.
 */
export function testTakeovers(it, { service, engine, environment }) {
  it(
    'take-overs of several sessions: every acknowledged append exactly once, no stale one',
    async () => {
      const wanted = wantedTakeovers(60);
      const result = await runTakeovers({ engine, takeovers: wanted, sessions: 6, env: await environment() });
      console.log(describeCampaign(result));
      countForCampaign(`take-overs over ${service}`, result.takeovers);
      assert.deepEqual(result.problems, []);
      assert.ok(result.takeovers >= wanted);
      // The run must have met what it is for.
      assert.ok(result.stopped > wanted / 2);
      assert.ok(result.fenced > wanted / 10);
      assert.ok(result.told > 0);
      assert.ok(result.acknowledged > wanted / 2);
    },
    longestMilliseconds,
  );

  it(
    'the same while the server is killed and started again',
    async () => {
      let kills = 0;
      const result = await runTakeovers({
        engine,
        takeovers: Math.ceil(wantedTakeovers(60) / 5),
        sessions: 3,
        env: await environment(),
        disturb: async (random) => {
          await sleep(1_500 + random.next() * 2_000);
          await controlService(service, 'kill');
          kills += 1;
          await sleep(random.next() * 500);
          await controlService(service, 'restart');
        },
      });
      console.log(`${describeCampaign(result)}; ${kills} kills of the server`);
      countForCampaign(`take-overs over ${service} while it is killed`, result.takeovers);
      assert.deepEqual(result.problems, []);
      assert.ok(kills > 1);
    },
    longestMilliseconds,
  );
}

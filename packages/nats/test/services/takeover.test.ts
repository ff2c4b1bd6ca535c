import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, expect, test } from 'vitest';

import { countForCampaign } from '../../../../tools/campaign/count.mjs';
import { controlService } from '../../../../tools/services/control.mjs';
import { describeCampaign, runTakeovers, wantedTakeovers } from '../../../../tools/takeover/campaign.mjs';
import { World } from './harness.mjs';

const world = new World();
afterAll(async () => {
  await world.close();
});
const engine = new URL('engine.mjs', import.meta.url).href;
const longest = 3_600_000;

function environment(): NodeJS.ProcessEnv {
  process.env['HOLDFAST_TEST_PREFIX'] = world.prefix();
  return process.env;
}

test(
  'take-overs of several sessions: every acknowledged append exactly once, no stale one',
  async () => {
    const wanted = wantedTakeovers(60);
    const result = await runTakeovers({ engine, takeovers: wanted, sessions: 6, env: environment() });
    console.log(describeCampaign(result));
    countForCampaign('take-overs over nats', result.takeovers);
    expect(result.problems).toEqual([]);
    expect(result.takeovers).toBeGreaterThanOrEqual(wanted);
    // The run must have met what it is for.
    expect(result.stopped).toBeGreaterThan(wanted / 2);
    expect(result.fenced).toBeGreaterThan(wanted / 10);
    expect(result.told).toBeGreaterThan(0);
    expect(result.acknowledged).toBeGreaterThan(result.takeovers);
  },
  longest,
);

test(
  'the same while the server is killed and started again',
  async () => {
    let kills = 0;
    const result = await runTakeovers({
      engine,
      takeovers: Math.ceil(wantedTakeovers(60) / 5),
      sessions: 3,
      env: environment(),
      disturb: async (random) => {
        await sleep(1_500 + random.next() * 2_000);
        await controlService('nats', 'kill');
        kills += 1;
        await sleep(random.next() * 500);
        await controlService('nats', 'restart');
      },
    });
    console.log(`${describeCampaign(result)}; ${kills} kills of the server`);
    expect(result.problems).toEqual([]);
    expect(kills).toBeGreaterThan(1);
  },
  longest,
);

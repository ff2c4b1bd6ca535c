import { afterAll, test } from 'vitest';

import { testTakeovers } from '../../../../tools/takeover/cases.mjs';
import { World } from './harness.mjs';

const world = new World();
afterAll(async () => {
  await world.close();
});

testTakeovers(test, {
  service: 'postgres',
  engine: new URL('engine.mjs', import.meta.url).href,
  environment: async () => ({ ...process.env, HOLDFAST_TEST_SCHEMA: await world.schema() }),
});

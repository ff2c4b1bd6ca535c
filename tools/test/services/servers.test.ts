import { connect } from 'node:net';

import { expect, test } from 'vitest';

import { controlService, serviceVariable } from '../../services/control.mjs';

async function accepts(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address);
  return await new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

test.each([
  ['s3', 'HOLDFAST_S3_ENDPOINT'],
  ['postgres', 'HOLDFAST_POSTGRES_URL'],
  ['nats', 'HOLDFAST_NATS_URL'],
  ['redis', 'HOLDFAST_REDIS_URL'],
])('%s can be killed and comes back on the same port', async (service, variable) => {
  const address = serviceVariable(variable);
  expect(await accepts(address)).toBe(true);
  await controlService(service, 'kill');
  try {
    expect(await accepts(address)).toBe(false);
  } finally {
    await controlService(service, 'restart');
  }
  expect(await accepts(address)).toBe(true);
});

test('a variable that is not set says how to run the test', () => {
  expect(() => serviceVariable('HOLDFAST_NO_SUCH_SERVICE')).toThrow(/npm run test:services/);
});

test('an unknown service or action is an error', async () => {
  await expect(controlService('nothing', 'kill')).rejects.toThrow(/no service nothing runs/);
});

import { spawn } from 'node:child_process';
import { connect } from 'node:net';

import { expect, test } from 'vitest';

import { controlService, serviceVariable } from '../../services/control.mjs';
import { run } from '../../shared/process.mjs';

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

test('postgres comes back while a child of the killed one still works', async () => {
  const address = serviceVariable('HOLDFAST_POSTGRES_URL');
  // A statement that counts in one tight loop does not notice that its server is dead, and keeps its shared memory.
  const client = spawn('psql', [address, '-c', 'select count(*) from generate_series(1, 15000000)'], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => client.once('exit', resolve));
  const active = `select count(*) from pg_stat_activity where state = 'active' and query like 'select count(*) from gen%'`;
  await expect
    .poll(async () => (await run('psql', [address, '-At', '-c', active])).stdout.trim(), { timeout: 30_000 })
    .toBe('1');
  await controlService('postgres', 'kill');
  await controlService('postgres', 'restart');
  expect((await run('psql', [address, '-At', '-c', 'select 1'])).stdout).toBe('1\n');
  client.kill();
  await ended;
});

test('a variable that is not set says how to run the test', () => {
  expect(() => serviceVariable('HOLDFAST_NO_SUCH_SERVICE')).toThrow(/npm run test:services/);
});

test('an unknown service or action is an error', async () => {
  await expect(controlService('nothing', 'kill')).rejects.toThrow(/no service nothing runs/);
});

import path from 'node:path';

import { run } from '../shared/process.mjs';
import { keepServer } from './kept-server.mjs';
import { accepts, findProgram, freePort, startProcess } from './server-process.mjs';

export const debianPackages = ['redis-server'];

const find = () => findProgram('redis-server') ?? findProgram('valkey-server');

export function missing() {
  return find() === undefined ? 'redis-server' : undefined;
}

/**
 * One Redis or Valkey server in the directory, which syncs every write.
 * @param {string} directory
 * @returns {Promise<import('./registry.mjs').RunningService>}
 */
export async function start(directory) {
  const program = find();
  if (program === undefined) throw new Error('redis-server is not installed');
  const port = await freePort();
  const log = path.join(directory, 'redis.log');
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: directory,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = await keepServer({
    name: 'redis-server',
    start: () => startProcess(program, args, { log }),
    serves: async () => await accepts(port),
    log,
  });
  return {
    env: { HOLDFAST_REDIS_URL: `redis://127.0.0.1:${port}` },
    version: (await run(program, ['--version'])).output.trim(),
    kill: server.kill,
    restart: server.restart,
    stop: async () => {
      await server.end('SIGTERM');
    },
  };
}

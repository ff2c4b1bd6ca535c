import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { run } from '../shared/process.mjs';
import { keepServer } from './kept-server.mjs';
import { accepts, findProgram, freePort, startProcess } from './server-process.mjs';

export const debianPackages = ['nats-server'];

export function missing() {
  return findProgram('nats-server') === undefined ? 'nats-server' : undefined;
}

/**
 * One NATS server with JetStream in the directory.
 * @param {string} directory
 * @returns {Promise<import('./registry.mjs').RunningService>}
 */
export async function start(directory) {
  const program = findProgram('nats-server');
  if (program === undefined) throw new Error('nats-server is not installed');
  const [port, monitoringPort] = [await freePort(), await freePort()];
  const log = path.join(directory, 'nats.log');
  const configuration = path.join(directory, 'nats.conf');
  mkdirSync(path.join(directory, 'jetstream'));
  writeFileSync(
    configuration,
    `listen: 127.0.0.1:${port}\nhttp: 127.0.0.1:${monitoringPort}\njetstream { store_dir: ${JSON.stringify(path.join(directory, 'jetstream'))}, max_mem: 64M, max_file: 1G }\n`,
  );
  const server = await keepServer({
    name: 'nats-server',
    start: () => startProcess(program, ['-c', configuration], { log }),
    serves: async () => await accepts(port),
    log,
  });
  return {
    env: {
      HOLDFAST_NATS_URL: `nats://127.0.0.1:${port}`,
      HOLDFAST_NATS_MONITORING: `http://127.0.0.1:${monitoringPort}`,
    },
    version: (await run(program, ['--version'])).output.trim(),
    kill: server.kill,
    restart: server.restart,
    stop: async () => {
      await server.end('SIGTERM');
    },
  };
}

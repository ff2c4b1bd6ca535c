import { createServer } from 'node:http';

/**
 * Lets tests, which run in other processes, kill and restart the servers of the run: one loopback address that takes
 * `POST /<service>/kill` and `POST /<service>/restart`. Of one server, one is done after the other.
 * @param {ReadonlyMap<string, import('./registry.mjs').RunningService>} running
 * @returns {Promise<{ env: Record<string, string>, close: () => void }>}
 */
export async function openControl(running) {
  /** The end of what was asked of each server until now. @type {Map<string, Promise<void>>} */
  const turns = new Map();
  /** @param {string} url */
  const perform = async (url) => {
    const [, name = '', action = ''] = url.split('/');
    const service = running.get(name);
    if (service === undefined) throw new Error(`no service ${name} runs`);
    if (action !== 'kill' && action !== 'restart') throw new Error(`there is no action ${action}`);
    // A test that met its time limit may still be waiting for its restart when the next one begins.
    const turn = (turns.get(name) ?? Promise.resolve()).then(async () => await service[action]());
    turns.set(
      name,
      turn.catch(() => undefined),
    );
    await turn;
  };
  const server = createServer((request, response) => {
    // One connection each: one that is kept may be ended by one side just when the other one uses it again.
    response.setHeader('connection', 'close');
    perform(request.url ?? '').then(
      () => response.writeHead(204).end(),
      (/** @type {unknown} */ error) => response.writeHead(500).end(String(error)),
    );
  });
  await /** @type {Promise<void>} */ (
    new Promise((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    })
  );
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    env: {
      HOLDFAST_SERVICES_CONTROL: `http://127.0.0.1:${port}`,
      HOLDFAST_SERVICES: [...running.keys()].join(' '),
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * For tests: kills a server of the run as a crash does, or starts a killed one again. Resolves when it is done.
 * @param {string} service
 * @param {'kill' | 'restart'} action
 */
export async function controlService(service, action) {
  const response = await fetch(`${serviceVariable('HOLDFAST_SERVICES_CONTROL')}/${service}/${action}`, {
    method: 'POST',
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${action} of ${service}: ${text}`);
}

/** For tests: the servers of the run, some of which may be dead at the moment. */
export const serviceNames = () => serviceVariable('HOLDFAST_SERVICES').split(' ');

/**
 * For tests: a variable of the run. A test of a server fails without it; it is never left out in silence.
 * @param {string} name
 * @returns {string}
 */
export function serviceVariable(name) {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run this test by npm run test:services`);
  return value;
}

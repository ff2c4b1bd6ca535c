import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { run } from '../shared/process.mjs';
import { keepServer } from './kept-server.mjs';
import { findProgram, freePort, startProcess, until } from './server-process.mjs';

/**
 * Ceph's object gateway: the S3 server of the distribution that honours conditional creates. A monitor, one storage
 * daemon that keeps objects in memory, and the gateway.
 */
export const debianPackages = ['ceph-mon', 'ceph-osd', 'ceph-common', 'radosgw'];

const programs = ['monmaptool', 'ceph-mon', 'ceph-osd', 'ceph', 'radosgw', 'radosgw-admin'];

export function missing() {
  return programs.find((name) => findProgram(name) === undefined);
}

/** A key that the gateway encrypts with when it is asked to. Without a key management service it has them in its settings. */
const kmsKey = 'holdfast-tests-key';

/**
 * `kill` and `restart` mean the gateway: the storage daemon behind it holds the objects in memory.
 * @param {string} directory
 * @returns {Promise<import('./registry.mjs').RunningService>}
 */
export async function start(directory) {
  const absent = missing();
  if (absent !== undefined) throw new Error(`${absent} is not installed`);
  /** @param {string} name */
  const program = (name) => findProgram(name) ?? name;
  /** @param {string} name */
  const inside = (name) => path.join(directory, name);
  /** @param {string} name */
  const logOf = (name) => path.join(directory, 'log', `${name}.out`);

  const [monitorPort, oldMonitorPort, gatewayPort] = [await freePort(), await freePort(), await freePort()];
  const addresses = `[v2:127.0.0.1:${monitorPort},v1:127.0.0.1:${oldMonitorPort}]`;
  const cluster = randomUUID();
  const configuration = inside('ceph.conf');
  for (const name of ['run', 'log', 'osd0', 'mona', 'rgw']) mkdirSync(inside(name));
  writeFileSync(inside('keyring'), '');
  writeFileSync(configuration, cephConfiguration({ directory, cluster, addresses, gatewayPort }));
  const env = { ...process.env, CEPH_CONF: configuration };

  /** @type {import('./server-process.mjs').ServerProcess[]} */
  const started = [];
  /** @param {string} name @param {string[]} args */
  const launch = (name, ...args) => {
    const child = startProcess(program(name), args, { env, log: logOf(name) });
    started.push(child);
    return child;
  };
  /** @param {string} name @param {string[]} args */
  const command = async (name, ...args) => {
    const result = await run(program(name), args, { env, timeoutMs: 60_000 });
    if (result.code !== 0) throw new Error(`${name} ${args[0] ?? ''}: ${result.output.trim()}`);
    return result.stdout;
  };
  const stop = async () => {
    // The gateway first, the monitor last.
    for (const child of started.splice(0).reverse()) await child.end('SIGKILL');
  };

  try {
    await command('monmaptool', '--create', '--addv', 'a', addresses, '--fsid', cluster, inside('monmap'));
    await command('ceph-mon', '-i', 'a', '--mkfs', '--monmap', inside('monmap'));
    const monitor = launch('ceph-mon', '-i', 'a', '-f');
    await until(
      'ceph-mon',
      async () => (await run(program('ceph'), ['--connect-timeout', '2', '-s'], { env })).code === 0,
      { process: monitor, log: logOf('ceph-mon') },
    );
    const storage = randomUUID();
    await command('ceph', 'osd', 'new', storage, '0');
    await command('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', storage);
    const osd = launch('ceph-osd', '-i', '0', '-f');
    await until('ceph-osd', async () => (await command('ceph', 'osd', 'stat')).includes('1 up'), {
      process: osd,
      log: logOf('ceph-osd'),
    });
    const credentials = { accessKeyId: 'holdfast-tests', secretAccessKey: 'not-a-secret-of-anybody' };
    await command(
      'radosgw-admin',
      'user',
      'create',
      '--uid=tests',
      '--display-name=tests',
      `--access-key=${credentials.accessKeyId}`,
      `--secret=${credentials.secretAccessKey}`,
    );
    const gateway = await keepServer({
      name: 'radosgw',
      start: () => launch('radosgw', '-n', 'client.rgw.a', '-f'),
      serves: async () => await answers(gatewayPort),
      log: logOf('radosgw'),
    });
    return {
      env: {
        HOLDFAST_S3_ENDPOINT: `http://127.0.0.1:${gatewayPort}`,
        HOLDFAST_S3_REGION: 'us-east-1',
        HOLDFAST_S3_KMS_KEY: kmsKey,
        HOLDFAST_S3_ACCESS_KEY_ID: credentials.accessKeyId,
        HOLDFAST_S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      },
      version: (await command('radosgw', '--version')).trim(),
      kill: gateway.kill,
      restart: gateway.restart,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @param {number} port */
async function answers(port) {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/**
 * Without the `crc` modes the gateway cannot log in while authentication is off; without `tcp_nodelay` every read waits
 * for a delayed acknowledgement of 40 ms.
 * @param {{ directory: string, cluster: string, addresses: string, gatewayPort: number }} facts
 */
function cephConfiguration({ directory, cluster, addresses, gatewayPort }) {
  return `[global]
fsid = ${cluster}
mon host = ${addresses}
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms client mode = crc
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
osd objectstore = memstore
memstore device bytes = 2147483648
osd data = ${directory}/osd0
mon data = ${directory}/mona
rgw data = ${directory}/rgw
run dir = ${directory}/run
admin socket = ${directory}/run/$name.asok
pid file = ${directory}/run/$name.pid
log file = ${directory}/log/$name.log
keyring = ${directory}/keyring
setuser match path =
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:${gatewayPort} tcp_nodelay=1
rgw crypt require ssl = false
rgw crypt s3 kms backend = testing
rgw crypt s3 kms encryption keys = ${kmsKey}=${randomBytes(32).toString('base64')}
`;
}

import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';

import { run } from '../shared/process.mjs';
import { keepServer } from './kept-server.mjs';
import { accepts, findProgram, freePort, startProcess, until } from './server-process.mjs';

export const debianPackages = ['postgresql-15'];

/** Debian keeps the programs of each version in a directory of their own; the newest first. */
function binaryDirectories() {
  const parent = '/usr/lib/postgresql';
  if (!existsSync(parent)) return [];
  return readdirSync(parent)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => path.join(parent, version, 'bin'));
}

/** @param {string} name */
const find = (name) => findProgram(name, binaryDirectories());

export function missing() {
  return ['initdb', 'postgres', 'pg_isready'].find((name) => find(name) === undefined);
}

/**
 * One Postgres cluster in the directory, trusting every loopback client. The server refuses to run as root: a privileged
 * runner starts it as the user `postgres` of the distribution's package.
 * @param {string} directory
 * @returns {Promise<import('./registry.mjs').RunningService>}
 */
export async function start(directory) {
  const [initdb, program, ready] = [find('initdb'), find('postgres'), find('pg_isready')];
  if (initdb === undefined || program === undefined || ready === undefined)
    throw new Error('Postgres is not installed');
  const port = await freePort();
  const data = path.join(directory, 'data');
  const log = path.join(directory, 'postgres.log');
  mkdirSync(data, { mode: 0o700 });
  const user = await unprivilegedUser();
  if (user !== undefined) {
    chmodSync(directory, 0o755);
    chownSync(data, user.uid, user.gid);
  }

  const made = startProcess(
    initdb,
    ['-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { log, cwd: '/', ...user },
  );
  await until('initdb', () => !made.running(), { limitMs: 60_000, log });
  if (!existsSync(path.join(data, 'PG_VERSION'))) await until('initdb', () => false, { limitMs: 0, log });

  const server = await keepServer({
    name: 'postgres',
    start: () =>
      startProcess(
        program,
        ['-D', data, '-c', 'listen_addresses=127.0.0.1', '-p', String(port), '-k', data],
        { log, cwd: '/', ...user },
      ),
    serves: async () =>
      (await run(ready, ['-q', '-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'])).code === 0,
    log,
  });
  return {
    env: { HOLDFAST_POSTGRES_URL: `postgres://postgres@127.0.0.1:${port}/postgres` },
    version: (await run(program, ['--version'])).output.trim(),
    kill: async () => {
      await server.kill();
      // Children that outlive it for a moment have its listening socket until they notice.
      await until('the end of postgres', async () => !(await accepts(port)), { log });
    },
    restart: server.restart,
    stop: async () => {
      // Fast shutdown: sessions are ended, nothing is waited for.
      await server.end('SIGINT');
    },
  };
}

/** @returns {Promise<{ uid: number, gid: number } | undefined>} */
async function unprivilegedUser() {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])]);
  if (uid.code !== 0) throw new Error('Postgres does not run as root, and there is no user postgres');
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

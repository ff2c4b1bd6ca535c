// Kills a session on host A and opens it on host B, stops B and opens it on C, and wakes B up again. Prints what happened and
// how long it took; every statement is checked.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { SessionStore } from '@holdfast/journal';

import { openEngines } from './engines.mjs';

const script = fileURLToPath(new URL('host.mjs', import.meta.url));
const id = 'session-0001';

/**
 * @typedef {object} Host
 * @property {string} root
 * @property {() => Promise<any>} next The next thing it says.
 * @property {(word: string) => void} tell
 * @property {(signal: NodeJS.Signals) => void} signal
 * @property {() => Promise<unknown>} ended
 */

/**
 * @param {string} engine
 * @param {string} directory
 * @param {'new' | 'open'} how
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Host>}
 */
async function startHost(engine, directory, how, env) {
  await mkdir(directory, { recursive: true });
  const child = spawn(process.execPath, [script, engine, directory, id, how], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env,
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    root: path.join(directory, 'roots', id),
    next: async () => {
      const { value, done } = await lines.next();
      assert.ok(done !== true, `the host in ${directory} ended too early`);
      return JSON.parse(value);
    },
    tell: (word) => {
      child.stdin.write(`${word}\n`);
    },
    signal: (signal) => {
      child.kill(signal);
    },
    ended: async () => await ended,
  };
}

/** @param {string} root @param {number} turn */
async function expectTurn(root, turn) {
  assert.equal(await readFile(path.join(root, 'count.txt'), 'utf8'), String(turn));
  for (let at = 0; at < 10; at += 1) {
    const text = await readFile(path.join(root, 'work', `file-${at}.txt`), 'utf8');
    assert.equal(text, `turn ${turn}, file ${at}\n`);
  }
}

/** @param {string} name @param {NodeJS.ProcessEnv} [env] */
export async function makeBucket(name, env = process.env) {
  const client = new S3Client({
    endpoint: env['HOLDFAST_S3_ENDPOINT'] ?? '',
    region: env['HOLDFAST_S3_REGION'] ?? '',
    forcePathStyle: true,
    credentials: {
      accessKeyId: env['HOLDFAST_S3_ACCESS_KEY_ID'] ?? '',
      secretAccessKey: env['HOLDFAST_S3_SECRET_ACCESS_KEY'] ?? '',
    },
  });
  await client.send(new CreateBucketCommand({ Bucket: name }));
  client.destroy();
}

/**
 * @param {'postgres' | 'nats'} engine
 * @param {(line: string) => void} print
 * @returns {Promise<{ killedToOpenMs: number, openMs: number, stoppedToOpenMs: number, tried: Record<string, string> }>}
 */
export async function runTwoHosts(engine, print) {
  const name = `two_hosts_${randomBytes(6).toString('hex')}`;
  const env = { ...process.env, TWO_HOSTS_NAME: name, TWO_HOSTS_BUCKET: name.replaceAll('_', '-') };
  await makeBucket(env.TWO_HOSTS_BUCKET, env);
  const home = await mkdtemp(path.join(tmpdir(), 'two-hosts-'));
  /** @type {Host[]} */
  const hosts = [];
  /** @param {string} place @param {'new' | 'open'} how */
  const start = async (place, how) => {
    const host = await startHost(engine, path.join(home, place), how, env);
    hosts.push(host);
    return host;
  };
  try {
    const a = await start('host-a', 'new');
    await a.next();
    a.tell('work 5');
    for (let turn = 1; turn <= 5; turn += 1) assert.equal((await a.next()).turn, turn);
    a.tell('work-on 6');
    let acknowledged = (await a.next()).turn;
    a.signal('SIGKILL');
    const killed = performance.now();
    await a.ended();
    print(`A was killed in the middle of its work, after turn ${acknowledged}`);

    const b = await start('host-b', 'open');
    const opened = await b.next();
    const killedToOpenMs = performance.now() - killed;
    // The turn under way may have become durable without A having heard of it.
    assert.ok(
      opened.count === acknowledged || opened.count === acknowledged + 1,
      `B found turn ${opened.count}`,
    );
    acknowledged = opened.count;
    assert.ok(b.root !== a.root && existsSync(b.root));
    await expectTurn(b.root, acknowledged);
    print(
      `B has the files of turn ${acknowledged}, ${killedToOpenMs.toFixed(0)} ms after the kill (the lease's time included)`,
    );
    b.tell('work 1');
    await b.next();

    b.signal('SIGSTOP');
    const stopped = performance.now();
    const c = await start('host-c', 'open');
    assert.equal((await c.next()).count, 1);
    const stoppedToOpenMs = performance.now() - stopped;
    print(`C took over from B, which was stopped, after ${stoppedToOpenMs.toFixed(0)} ms`);
    c.tell('work 3');
    for (let turn = 1; turn <= 3; turn += 1) await c.next();

    b.tell('try-everything');
    b.signal('SIGCONT');
    const { tried } = await b.next();
    print(`B woke up and tried: ${JSON.stringify(tried)}`);
    for (const operation of ['turn', 'checkpoint', 'restore']) assert.notEqual(tried[operation], 'done');

    // Nothing of B is in the journal, and C still has the session: its lease was not freed by B.
    c.tell('work 4');
    for (let turn = 1; turn <= 4; turn += 1) assert.equal((await c.next()).turn, turn);
    await expectTurn(c.root, 4);
    const engines = await openEngines(engine, env);
    const view = await (await SessionStore.open(engines)).read(id);
    await view.verify();
    let epoch = 0;
    for await (const event of view.events()) {
      assert.ok(event.epoch >= epoch, 'an event of an owner behind the fence of a later one');
      epoch = event.epoch;
      assert.ok(
        !JSON.stringify(event.body).includes('after the take-over'),
        'something that B did after it was overtaken',
      );
    }
    await view.close();
    c.tell('leave');
    await c.next();
    await engines.close();
    print('the journal has no event of B behind those of C, and C went on and left in order');
    return { killedToOpenMs, openMs: opened.milliseconds, stoppedToOpenMs, tried };
  } finally {
    for (const host of hosts) host.signal('SIGKILL');
    await Promise.all(hosts.map(async (host) => await host.ended()));
    await rm(home, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const engine of /** @type {const} */ (['postgres', 'nats'])) {
    console.log(`S3 and ${engine}:`);
    const { openMs } = await runTwoHosts(engine, (line) => console.log(`  ${line}`));
    console.log(`  opening itself took B ${openMs.toFixed(0)} ms, waiting for the lease included`);
  }
}

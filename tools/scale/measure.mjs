#!/usr/bin/env node
/**
 * Measures what a session costs an engine, on this machine: starts each server on loopback, and writes
 * `measurements.json` beside this file. `simulate.mjs` is calibrated by it.
 *
 *     node tools/scale/measure.mjs
 */
import {
  chmodSync,
  closeSync,
  fdatasyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Blobs, MemoryBlobsDriver } from '@holdfast/blobs';
import { Ledger, MemoryLedgerDriver, SessionStore, sharedSessionLedgers } from '@holdfast/journal';
import { memoryLeaser } from '@holdfast/lease';
import { openNats } from '@holdfast/nats';
import { migratePostgres, openPostgres } from '@holdfast/postgres';
import { defineRig, sessionWorkspaces } from '@holdfast/rig';
import { defineLoop } from '@holdfast/session';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';

import * as nats from '../services/nats.mjs';
import * as postgres from '../services/postgres.mjs';

/**
 * @typedef {import('./simulate.mjs').EngineCost} EngineCost
 * @typedef {import('./simulate.mjs').SessionCost} SessionCost
 */

/** A record of a session journal has about this many bytes. */
const record = new Uint8Array(700).fill(97);
const writersAtOnce = 32;

/** @param {number[]} values @param {number} part */
function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(2));
}

/** @param {number} count @param {(at: number) => Promise<unknown>} work */
async function timed(count, work) {
  const times = [];
  for (let at = 0; at < count; at += 1) {
    const started = performance.now();
    await work(at);
    times.push(performance.now() - started);
  }
  return times;
}

/**
 * @param {{ ledger: Ledger, leaser: import('@holdfast/lease').Leaser }} storage
 * @returns {Promise<EngineCost>}
 */
async function measureEngine({ ledger, leaser }) {
  await timed(50, async (at) => await ledger.append('warm', at, [record]));
  const appends = await timed(400, async (at) => await ledger.append('one', at, [record]));
  const started = performance.now();
  const each = 100;
  await Promise.all(
    Array.from({ length: writersAtOnce }, async (_, writer) => {
      for (let at = 0; at < each; at += 1) await ledger.append(`many/${writer}`, at, [record]);
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const lease = await leaser.acquire('renewed');
  const renewals = await timed(200, async () => await lease.check());
  await lease.release();
  const grants = await timed(200, async (at) => await (await leaser.acquire(`name/${at}`)).release());
  const reads = await timed(20, async () => {
    for await (const one of ledger.read('one', { limit: 100 })) void one;
  });
  return {
    appendMs: { p50: quantile(appends, 0.5), p95: quantile(appends, 0.95) },
    appendsPerSecond: Math.round((writersAtOnce * each) / seconds),
    renewMs: { p50: quantile(renewals, 0.5), p95: quantile(renewals, 0.95) },
    acquireAndReleaseMs: { p50: quantile(grants, 0.5), p95: quantile(grants, 0.95) },
    read100Ms: { p50: quantile(reads, 0.5), p95: quantile(reads, 0.95) },
  };
}

/** What a turn and an idle session ask of the engines, counted with a rig over memory. @returns {Promise<SessionCost>} */
async function countSession() {
  const base = mkdtempSync(path.join(tmpdir(), 'holdfast-scale-'));
  const counts = { appends: 0, bytes: 0, puts: 0, putBytes: 0 };
  const ledgers = new MemoryLedgerDriver();
  const append = ledgers.append.bind(ledgers);
  ledgers.append = async (name, tip, records, options) => {
    counts.appends += 1;
    counts.bytes += records.reduce((sum, one) => sum + one.length, 0);
    await append(name, tip, records, options);
  };
  const driver = new MemoryBlobsDriver();
  const put = driver.put.bind(driver);
  driver.put = async (key, source, options) => {
    counts.puts += 1;
    counts.putBytes += source.size;
    return await put(key, source, options);
  };
  const blobs = new Blobs(driver);
  const store = await WorkspaceStore.open(blobs);
  const sessionStore = await SessionStore.open({
    ledgers: sharedSessionLedgers(new Ledger(ledgers)),
    leaser: memoryLeaser(),
    blobs,
  });
  const assistant = defineLoop({
    name: 'assistant',
    turn: async ({ input, session, step }) => {
      const text = typeof input === 'string' ? input : '';
      await step(async () => {
        for (let at = 0; at < 10; at += 1)
          writeFileSync(path.join(base, session.id, `file-${at}.txt`), `${text} ${at} ${'x'.repeat(2_000)}`);
      });
    },
  });
  const rig = defineRig({
    loops: [assistant],
    primers: ['assistant'],
    sessionStore,
    workspace: sessionWorkspaces(store, base),
    snapshots: { trigger: 'turn-done', priority: 'required' },
  });
  const controller = await rig.newSession({});
  const turns = 20;
  await (await controller.submit('first')).outcome;
  const before = { ...counts };
  for (let turn = 0; turn < turns; turn += 1) await (await controller.submit(`turn ${turn}`)).outcome;
  /** @param {keyof typeof counts} key */
  const perTurn = (key) => Number(((counts[key] - before[key]) / turns).toFixed(1));
  const cost = {
    appendsPerTurn: perTurn('appends'),
    journalBytesPerTurn: perTurn('bytes'),
    putsPerTurn: perTurn('puts'),
    blobBytesPerTurn: perTurn('putBytes'),
  };
  await controller.shutdown();
  rmSync(base, { recursive: true });
  return cost;
}

const scratch = mkdtempSync(path.join(tmpdir(), 'hf-scale-'));
chmodSync(scratch, 0o711);
/** @param {typeof postgres | typeof nats} service @param {string} name */
const start = async (service, name) => {
  const directory = path.join(scratch, name);
  mkdirSync(directory, { mode: 0o700 });
  return await service.start(directory);
};
/** What the disk itself takes to keep a record. */
async function measureDisk() {
  const file = openSync(path.join(scratch, 'disk'), 'w');
  const times = await timed(200, async () => {
    writeSync(file, record);
    fdatasyncSync(file);
  });
  closeSync(file);
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95) };
}
const syncMs = await measureDisk();

/** @type {Record<string, EngineCost>} */
const engines = {};
/** @type {Record<string, string>} */
const versions = {};
try {
  const database = await start(postgres, 'postgres');
  versions['postgres'] = database.version;
  const pool = new pg.Pool({ connectionString: database.env['HOLDFAST_POSTGRES_URL'] ?? '', max: 16 });
  for (const announceAppends of [false, true]) {
    const schema = announceAppends ? 'told' : 'untold';
    await migratePostgres(pool, { schema });
    const storage = await openPostgres(pool, { schema, announceAppends });
    engines[announceAppends ? 'postgres, appends announced' : 'postgres'] = await measureEngine(storage);
    await storage.close();
  }
  await pool.end();
  await database.stop();

  const server = await start(nats, 'nats');
  versions['nats'] = server.version;
  const connection = await connect({ servers: server.env['HOLDFAST_NATS_URL'] ?? '' });
  const storage = await openNats(connection, { acknowledge: 'unsynced' });
  engines['nats, not synced'] = await measureEngine(storage);
  await storage.close();
  await connection.close();
  await server.stop();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
const measured = {
  syncMs,
  machine: `${availableParallelism()} processors shared by client and server, Node ${process.versions.node}`,
  versions,
  session: await countSession(),
  engines,
};
writeFileSync(
  fileURLToPath(new URL('measurements.json', import.meta.url)),
  `${JSON.stringify(measured, undefined, 2)}\n`,
);
console.log(JSON.stringify(measured, undefined, 2));

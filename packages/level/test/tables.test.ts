import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { JournalCorruptError, LedgerInUseError } from '@holdfast/journal';
import { openLevelLedgers } from '@holdfast/level';
import { Level } from 'level';
import { afterEach, expect, it } from 'vitest';

import { removeTemporaryDirectories, temporaryDirectory } from './support/level-harness.js';

afterEach(removeTemporaryDirectories);

const id = 'session-0001';

/** A database with tables of many sizes of blocks, compressible and not. */
async function fill(directory: string): Promise<string> {
  const ledgers = await openLevelLedgers(directory);
  const ledger = await ledgers.open(id, { create: true });
  let tip = 0;
  for (let round = 0; round < 40; round += 1) {
    const records = Array.from({ length: 20 }, (_, index) => {
      const size = (round * 977 + index * 131) % 20_000;
      const record = new Uint8Array(size);
      if (index % 2 === 0)
        for (let at = 0; at < size; at += 1) record[at] = (at * (index + 7) * 2_654_435_761) >>> 24;
      return record;
    });
    ({ tip } = await ledger.append('log', tip, records));
  }
  await ledger.close();
  const again = await ledgers.open(id);
  expect(await again.tip('log')).toBe(tip);
  await again.close();
  await ledgers.close();
  return join(directory, id, 'ledger');
}

const tablesOf = (database: string): string[] =>
  readdirSync(database).filter((name) => name.endsWith('.ldb'));

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a rejection');
}

it('undamaged tables of several megabytes, compressed or not, open', async () => {
  const directory = temporaryDirectory();
  const database = await fill(directory);
  expect(tablesOf(database).length).toBeGreaterThan(0);
  const whole: Level<Uint8Array, Uint8Array> = new Level(database, {
    valueEncoding: 'view',
    keyEncoding: 'view',
  });
  // Of the engine on this platform; the browser's has none.
  const engine = whole as unknown as { compactRange(...call: unknown[]): Promise<void> };
  await engine.compactRange(Uint8Array.of(0), Uint8Array.of(255), { keyEncoding: 'view' });
  await whole.close();
  const ledgers = await openLevelLedgers(directory);
  const ledger = await ledgers.open(id);
  let count = 0;
  for await (const record of ledger.read('log')) count += record.data.length >= 0 ? 1 : 0;
  expect(count).toBe(800);
  await ledgers.close();
});

it('damage anywhere in a large table is found before the engine meets it', async () => {
  const directory = temporaryDirectory();
  const database = await fill(directory);
  const [table] = tablesOf(database) as [string];
  const path = join(database, table);
  const bytes = readFileSync(path);
  const ledgers = await openLevelLedgers(directory);
  for (let step = 0; step < 60; step += 1) {
    // Evenly over the file, and densely over its end, where the indexes are. (The padding of the footer means nothing.)
    const atEnd = step < 43 ? bytes.length - 1 - (step - 40) : bytes.length - 49 - (step - 43) * 11;
    const at = step < 40 ? Math.floor(((bytes.length - 48) * step) / 40) : atEnd;
    const flipped = Uint8Array.from(bytes);
    flipped[at] = (flipped[at] as number) ^ (1 << (step % 8));
    writeFileSync(path, flipped);
    const error = await failureOf(ledgers.open(id));
    expect([JournalCorruptError.is(error), at]).toEqual([true, at]);
    expect((error as JournalCorruptError).message).toContain(table);
  }
  writeFileSync(path, bytes);
  await (await ledgers.open(id)).close();
  await ledgers.close();
});

it('a table that a living owner may be writing is no damage', async () => {
  const directory = temporaryDirectory();
  const database = await fill(directory);
  const [table] = tablesOf(database) as [string];
  writeFileSync(join(database, table), readFileSync(join(database, table)).subarray(0, 5_000));
  const { hostname } = await import('node:os');
  const ledgers = await openLevelLedgers(directory);
  const owner = (facts: object): void => {
    writeFileSync(join(directory, id, 'owner'), JSON.stringify(facts));
  };
  owner({ pid: process.ppid, host: hostname() });
  expect(LedgerInUseError.is(await failureOf(ledgers.open(id)))).toBe(true);
  for (const facts of [
    { pid: 2 ** 22 + 1, host: hostname() },
    { pid: process.ppid, host: 'elsewhere' },
    {},
  ]) {
    owner(facts);
    expect(JournalCorruptError.is(await failureOf(ledgers.open(id)))).toBe(true);
  }
  await ledgers.close();
});

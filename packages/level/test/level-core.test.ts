import {
  JournalCorruptError,
  type Ledger,
  LedgerAmbiguousError,
  LedgerBackendError,
  LedgerConflictError,
} from '@holdfast/journal';
import { levelLedger } from '@holdfast/level';
import { Level } from 'level';
import { afterEach, describe, expect, it } from 'vitest';

import { removeTemporaryDirectories, temporaryDirectory } from './support/level-harness.js';

afterEach(removeTemporaryDirectories);

type Bytes = Level<Uint8Array, Uint8Array>;
const bytes = (...values: number[]): Uint8Array => Uint8Array.of(...values);

async function open(): Promise<{ readonly database: Bytes; readonly ledger: Ledger }> {
  const database: Bytes = new Level(temporaryDirectory(), { keyEncoding: 'view', valueEncoding: 'view' });
  await database.open();
  return { database, ledger: levelLedger(database) };
}

/** Replaces a method for some calls; the result of `instead` decides. */
function intercept(
  database: Bytes,
  method: 'batch' | 'open',
  times: number,
  instead: (real: () => Promise<void>) => Promise<void>,
): void {
  const real = (database[method] as (...call: unknown[]) => Promise<void>).bind(database);
  let left = times;
  Object.defineProperty(database, method, {
    configurable: true,
    value: async (...call: unknown[]): Promise<void> => {
      if (left === 0) {
        await real(...call);
        return;
      }
      left -= 1;
      await instead(async () => {
        await real(...call);
      });
    },
  });
}

async function valuesOf(ledger: Ledger): Promise<number[]> {
  const values: number[] = [];
  for await (const { data } of ledger.read('log')) values.push(data[0] as number);
  return values;
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a rejection');
}

describe('a write that fails', () => {
  it('is success when it is found after closing and opening', async () => {
    const { database, ledger } = await open();
    intercept(database, 'batch', 1, async (real) => {
      await real();
      throw new Error('sync failed');
    });
    expect(await ledger.append('log', 0, [bytes(1), bytes(2)])).toEqual({ tip: 2 });
    await ledger.append('log', 2, [bytes(3)]);
    expect(await valuesOf(ledger)).toEqual([1, 2, 3]);
    await ledger.close();
  });

  it('is a definite failure when it is not found, and the next one works', async () => {
    const { database, ledger } = await open();
    await ledger.append('log', 0, [bytes(1)]);
    const cause = new Error('no space');
    intercept(database, 'batch', 1, async () => {
      throw cause;
    });
    const error = (await failureOf(ledger.append('log', 1, [bytes(2)]))) as LedgerBackendError;
    expect([LedgerBackendError.is(error), error.cause, error.effect]).toEqual([true, cause, 'none']);
    await ledger.append('log', 1, [bytes(3)]);
    expect(await valuesOf(ledger)).toEqual([1, 3]);
    await ledger.close();
  });

  it('is unknown when the database does not open again, and nothing is answered until it does', async () => {
    for (const landed of [true, false]) {
      const { database, ledger } = await open();
      await ledger.append('log', 0, [bytes(1)]);
      intercept(database, 'batch', 1, async (real) => {
        if (landed) await real();
        throw new Error('disk gone');
      });
      intercept(database, 'open', 2, async () => {
        throw new Error('still gone');
      });
      expect(LedgerAmbiguousError.is(await failureOf(ledger.append('log', 1, [bytes(2)])))).toBe(true);
      expect(LedgerBackendError.is(await failureOf(ledger.tip('log')))).toBe(true);
      expect(await ledger.tip('log')).toBe(landed ? 2 : 1);
      expect(await valuesOf(ledger)).toEqual(landed ? [1, 2] : [1]);
      if (landed)
        expect(LedgerConflictError.is(await failureOf(ledger.append('log', 1, [bytes(9)])))).toBe(true);
      await ledger.close();
    }
  });

  it('of a deletion is a failure, after which the ledger is as the database has it', async () => {
    const { database, ledger } = await open();
    await ledger.append('log', 0, [bytes(1), bytes(2)]);
    intercept(database, 'batch', 1, async () => {
      throw new Error('no space');
    });
    expect(LedgerBackendError.is(await failureOf(ledger.delete('log')))).toBe(true);
    expect(await valuesOf(ledger)).toEqual([1, 2]);
    await ledger.delete('log');
    expect(await ledger.tip('log')).toBe(0);
    await ledger.close();
  });
});

describe('what is found in a database', () => {
  const key = (name: string, seq: number): Uint8Array => {
    const buffer = Buffer.concat([Buffer.from(`${name}\0`), Buffer.alloc(8)]);
    buffer.writeBigUInt64BE(BigInt(seq), buffer.length - 8);
    return buffer;
  };

  it.each([
    ['a record without its seal', async (database: Bytes) => await database.put(key('log', 2), bytes(1))],
    [
      'a record at another place',
      async (database: Bytes) =>
        await database.put(key('log', 4), (await database.get(key('log', 2))) as Uint8Array),
    ],
    ['no first record', async (database: Bytes) => await database.del(key('log', 1))],
    ['a missing record', async (database: Bytes) => await database.del(key('log', 2))],
  ])('%s is damage', async (_, damage) => {
    const { database, ledger } = await open();
    await ledger.append('log', 0, [bytes(1), bytes(2), bytes(3)]);
    await damage(database);
    const fresh = levelLedger(database);
    const error = await failureOf(valuesOf(fresh));
    expect(JournalCorruptError.is(error)).toBe(true);
    await fresh.close();
  });

  it('a key that is not ours is damage when names are listed', async () => {
    const { database, ledger } = await open();
    await database.put(Buffer.from('stray'), bytes(1));
    const list = async (): Promise<void> => {
      for await (const name of ledger.list()) void name;
    };
    expect(JournalCorruptError.is(await failureOf(list()))).toBe(true);
    await ledger.close();
  });

  it('durability is what the database says, or the caller', async () => {
    const { database, ledger } = await open();
    expect(ledger.supports).toEqual({ follow: true, shared: false, durable: true });
    expect(levelLedger(database, { durable: false }).supports.durable).toBe(false);
    expect(ledger.storagePaths()).toEqual([]);
    await ledger.close();
  });
});

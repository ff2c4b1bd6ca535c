import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Ledger, SessionLedgers } from '@holdfast/journal';
import type { LedgerHarness, LostReply } from '@holdfast/journal/testing';
import { levelLedger, openLevelLedgers } from '@holdfast/level';
import { Level } from 'level';

const made: string[] = [];

/** A directory of its own for each storage of a harness. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-level-'));
  made.push(directory);
  return directory;
}

/** Removes every directory that was made. */
export function removeTemporaryDirectories(): void {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
}

type Bytes = Level<Uint8Array, Uint8Array>;

async function openDatabase(location: string): Promise<Bytes> {
  const database: Bytes = new Level(location, { keyEncoding: 'view', valueEncoding: 'view' });
  await database.open();
  return database;
}

/** Makes the next batch fail before or after it took effect, as a failed sync may. */
function failBatch(database: Bytes, outcome: LostReply): void {
  const batch = database.batch.bind(database) as (...call: unknown[]) => Promise<void>;
  Object.defineProperty(database, 'batch', {
    configurable: true,
    value: async (...call: unknown[]): Promise<void> => {
      Object.defineProperty(database, 'batch', { configurable: true, value: batch });
      if (outcome === 'landed') await batch(...call);
      // And it cannot be opened again at once, so that the driver has no way to find out.
      Object.defineProperty(database, 'open', {
        configurable: true,
        value: async () => {
          Reflect.deleteProperty(database, 'open');
          throw new Error('injected: no reopening');
        },
      });
      throw new Error('injected: sync failed');
    },
  });
}

/** One ledger over one database that the application opened. */
export function levelLedgerHarness(): LedgerHarness {
  const opened = new WeakMap<Ledger, { readonly location: string; readonly database: Bytes }>();
  const open = async (location: string): Promise<Ledger> => {
    const database = await openDatabase(location);
    const ledger = levelLedger(database, { durable: true });
    opened.set(ledger, { location, database });
    return ledger;
  };
  const known = (ledger: Ledger): { readonly location: string; readonly database: Bytes } =>
    opened.get(ledger) as { location: string; database: Bytes };
  const harness: LedgerHarness = {
    adapter: 'level',
    fresh: async () => await open(temporaryDirectory()),
    reopen: async (ledger) => {
      try {
        return await open(known(ledger).location);
      } catch (error) {
        // Who opens the database is the application; the sessions' ledgers translate the engine's refusal themselves.
        const { LedgerInUseError } = await import('@holdfast/journal');
        throw new LedgerInUseError('level', undefined, { cause: error });
      }
    },
    crash: async (ledger) => {
      // Closing the engine writes nothing that an acknowledged append had not made durable.
      await known(ledger).database.close();
      return await open(known(ledger).location);
    },
    corrupt: async (ledger, name, seq) => {
      const { database } = known(ledger);
      const key = Buffer.concat([Buffer.from(`${name}\0`), Buffer.alloc(8)]);
      key.writeBigUInt64BE(BigInt(seq), key.length - 8);
      const value = Buffer.from((await database.get(key)) as Uint8Array);
      const last = value.length - 1;
      value[last] = (value[last] as number) ^ 1;
      await database.put(key, value);
    },
    loseReply: async (ledger, outcome) => {
      failBatch(known(ledger).database, outcome);
    },
  };
  return harness;
}

/** The ledger of a session, as an embedded application has it. */
export function sessionLedgerHarness(): LedgerHarness {
  interface Opened {
    readonly directory: string;
    readonly ledgers: SessionLedgers;
  }
  const opened = new WeakMap<Ledger, Opened>();
  const id = 'session-0001';
  const openIn = async (ledgers: SessionLedgers, directory: string, own: boolean): Promise<Ledger> => {
    const ledger = await ledgers.open(id, { create: true });
    opened.set(ledger, { directory, ledgers });
    if (own) {
      const close = ledger.close.bind(ledger);
      ledger.close = async () => {
        await close();
        await ledgers.close();
      };
      ledger[Symbol.asyncDispose] = () => ledger.close();
    }
    return ledger;
  };
  const open = async (directory: string): Promise<Ledger> => {
    const ledgers = await openLevelLedgers(directory);
    try {
      return await openIn(ledgers, directory, true);
    } catch (error) {
      await ledgers.close();
      throw error;
    }
  };
  const known = (ledger: Ledger): Opened => opened.get(ledger) as Opened;
  return {
    adapter: 'level, per session',
    fresh: async () => await open(temporaryDirectory()),
    reopen: async (ledger) => await open(known(ledger).directory),
    view: async (ledger) => await openIn(known(ledger).ledgers, known(ledger).directory, false),
  };
}

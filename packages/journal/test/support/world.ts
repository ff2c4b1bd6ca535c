import { ManualClock, type SeededRandom, seededRandom } from '@holdfast/base/testing';
import { type Blobs, MemoryBlobStorage, memoryBlobs } from '@holdfast/blobs';
import {
  Ledger,
  type LedgerDriver,
  type LedgerRecord,
  MemoryLedgerDriver,
  MemorySessionStorage,
  memorySessionLedgers,
  type SessionEvent,
  type SessionJournal,
  type SessionLedgers,
  SessionStore,
  sessionLeaseName,
} from '@holdfast/journal';
import { FaultLedgerDriver, type LedgerFault } from '@holdfast/journal/testing';
import { type Leaser, MemoryLeases, memoryLeaser } from '@holdfast/lease';

export interface WorldOptions {
  readonly notes?: boolean;
  readonly clock?: ManualClock;
  readonly seed?: number;
  /** A mistake: what every ledger is opened on instead of the right driver. */
  readonly mistaken?: ((driver: LedgerDriver) => LedgerDriver) | undefined;
}

/** Everything of a session store in memory, with faults, reopening and a look behind the scenes. */
export class World {
  readonly storage: MemorySessionStorage = new MemorySessionStorage();
  readonly blobStorage: MemoryBlobStorage = new MemoryBlobStorage();
  readonly blobs: Blobs = memoryBlobs({ storage: this.blobStorage });
  readonly clock: ManualClock;
  readonly random: SeededRandom;
  /** The driver of the ledger that was opened last. */
  faults: FaultLedgerDriver | undefined;
  /** Armed in the ledger that is opened next. */
  readonly nextFaults: LedgerFault[] = [];
  readonly #notes: boolean;
  readonly #mistaken: (driver: LedgerDriver) => LedgerDriver;

  constructor(options: WorldOptions = {}) {
    this.#mistaken = options.mistaken ?? ((driver) => driver);
    this.#notes = options.notes ?? true;
    this.clock = options.clock ?? new ManualClock();
    this.random = seededRandom(options.seed ?? 1);
  }

  ledgers(): SessionLedgers {
    const inner = memorySessionLedgers({ storage: this.storage, notes: this.#notes });
    return {
      notes: inner.notes,
      exists: async (...call) => await inner.exists(...call),
      open: async (id, options) => {
        await (await inner.open(id, options)).close();
        const storage = this.storage.sessions.get(id);
        const driver = new MemoryLedgerDriver(storage === undefined ? {} : { storage });
        this.faults = new FaultLedgerDriver(this.#mistaken(driver));
        for (const fault of this.nextFaults.splice(0)) this.faults.arm(fault);
        return new Ledger(this.faults, { clock: this.clock });
      },
      list: (...call) => inner.list(...call),
      delete: async (...call) => {
        await inner.delete(...call);
      },
      storagePaths: () => inner.storagePaths(),
      close: async () => {
        await inner.close();
      },
      [Symbol.asyncDispose]: async () => {
        await inner.close();
      },
    };
  }

  /** A store with a leaser of its own: what another process would have. */
  async store(leaser: Leaser = this.leaser()): Promise<SessionStore> {
    const { blobs, clock, random } = this;
    return await SessionStore.open({ ledgers: this.ledgers(), leaser, blobs, clock, random });
  }

  readonly leases: MemoryLeases = new MemoryLeases();

  leaser(): Leaser {
    return memoryLeaser({ leases: this.leases });
  }

  /** Cuts off the present owner without telling it, as a stopped process is. */
  cutOff(id: string): void {
    this.leases.expire(sessionLeaseName(id), { silently: true });
  }

  /** The stored records of a session, as bytes that a test may change. */
  stored(id: string): Uint8Array[] {
    return this.storage.sessions.get(id)?.ledgers.get('journal') ?? [];
  }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

export async function eventsOf(journal: {
  events(): AsyncIterable<SessionEvent>;
}): Promise<readonly { readonly type: string; readonly body: unknown }[]> {
  return (await collect(journal.events())).map(({ type, body }) => ({ type, body }));
}

export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a rejection');
}

export function refOf(label: number | string): string {
  return `v1:sha256:${String(label)
    .padStart(64, '0')
    .replace(/[^0-9a-f]/g, 'e')}`;
}

export function checkpointBody(ref: string, more: object = {}): never {
  return {
    ref,
    consistency: 'quiescent',
    trigger: 'manual',
    stats: { entries: 1, files: 1, bytes: 10, filesRead: 1, bytesRead: 10, bytesStored: 5, durationMs: 2 },
    coverage: { omitted: [], dropped: [], raced: [] },
    ...more,
  } as never;
}

export type { LedgerRecord, SessionJournal };

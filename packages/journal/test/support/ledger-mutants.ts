import type { Mutant } from '@holdfast/base/testing';
import {
  JournalCorruptError,
  Ledger,
  LedgerAmbiguousError,
  type LedgerCallOptions,
  LedgerConflictError,
  LedgerDeletedError,
  type LedgerDriver,
  LedgerInUseError,
  type LedgerRecord,
  MemoryLedgerDriver,
  MemoryLedgerStorage,
} from '@holdfast/journal';
import { FaultLedgerDriver, type LedgerHarness } from '@holdfast/journal/testing';

/** What a wrong driver may look at and change behind the contract's back. */
interface World {
  readonly storage: MemoryLedgerStorage;
  /** One per opened driver. */
  readonly view: number;
}

type Wrong = (driver: LedgerDriver, world: World) => Partial<LedgerDriver>;

interface Defect {
  readonly name: string;
  readonly killedBy: readonly string[];
  readonly driver?: Wrong;
  readonly ledger?: new (driver: LedgerDriver) => Ledger;
  readonly harness?: (harness: LedgerHarness) => Partial<LedgerHarness>;
}

const records = (storage: MemoryLedgerStorage, name: string): Uint8Array[] => storage.ledgers.get(name) ?? [];

function put(storage: MemoryLedgerStorage, name: string, all: Uint8Array[]): void {
  storage.ledgers.set(name, all);
  storage.wake();
}

/** Deliberately wrong adapters. Each states which clauses must catch it; others may too. */
const defects: readonly Defect[] = [
  {
    name: 'accepts a stale expected tip and appends at the end',
    killedBy: ['2.3', '2.5'],
    driver: (driver, { storage }) => ({
      append: async (name, expected, data, options) => {
        const tip = records(storage, name).length;
        await driver.append(name, expected < tip ? tip : expected, data, options);
      },
    }),
  },
  {
    name: 'writes over what follows a stale expected tip',
    killedBy: ['2.3', '2.5', '7.4'],
    driver: (driver, { storage }) => ({
      append: async (name, expected, data, options) => {
        const all = records(storage, name);
        if (expected > 0 && expected < all.length) put(storage, name, all.slice(0, expected));
        else if (expected === 0 && all.length > 0) storage.ledgers.delete(name);
        await driver.append(name, expected, data, options);
      },
    }),
  },
  {
    name: 'takes an expected tip above the real one for the real one',
    killedBy: ['2.3', '2.4'],
    driver: (driver, { storage }) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, Math.min(expected, records(storage, name).length), data, options);
      },
    }),
  },
  {
    name: 'looks, waits, then writes: two winners of one expectation',
    killedBy: ['2.5'],
    driver: (driver, { storage }) => ({
      append: async (name, expected, data, options) => {
        const tip = await driver.tip(name, options);
        if (tip !== expected) throw new LedgerConflictError(name, expected, tip);
        await Promise.resolve();
        put(storage, name, [...records(storage, name), ...data.map((one) => one.slice())]);
      },
    }),
  },
  {
    name: 'writes several records one by one, so that others come between',
    killedBy: ['2.6'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, expected, data.slice(0, 1), options);
        for (const one of data.slice(1)) {
          await Promise.resolve();
          await driver.append(name, await driver.tip(name, options), [one], options);
        }
      },
    }),
  },
  {
    name: 'stores only the first of several records',
    killedBy: ['2.2', '2.6'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, expected, data.slice(0, 1), options);
      },
    }),
  },
  {
    name: 'writes before it looks for a conflict',
    killedBy: ['2.3', '2.4'],
    driver: (driver, { storage }) => ({
      append: async (name, expected, data, options) => {
        const tip = records(storage, name).length;
        await driver.append(name, tip, data, options);
        if (tip !== expected) throw new LedgerConflictError(name, expected, tip);
      },
    }),
  },
  {
    name: 'reports a conflict as any failure',
    killedBy: ['2.3', '2.4', '7.1'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, expected, data, options).catch((error: unknown) => {
          throw new Error('duplicate key', { cause: error });
        });
      },
    }),
  },
  {
    name: 'names a wrong actual tip in conflicts',
    killedBy: ['2.3'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, expected, data, options).catch((error: unknown) => {
          throw LedgerConflictError.is(error) ? new LedgerConflictError(name, expected, expected + 1) : error;
        });
      },
    }),
  },
  {
    name: 'creates a ledger when an append to it conflicts',
    killedBy: ['2.4'],
    driver: (driver, { storage }) => ({
      append: async (name, expected, data, options) => {
        if (!storage.ledgers.has(name)) storage.ledgers.set(name, []);
        await driver.append(name, expected, data, options);
      },
    }),
  },
  {
    name: 'drops empty records',
    killedBy: ['2.8'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(
          name,
          expected,
          data.filter((one) => one.length > 0),
          options,
        );
      },
    }),
  },
  {
    name: 'keeps records as UTF-8 text',
    killedBy: ['2.1', '2.8'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        const text = data.map((one) => new TextEncoder().encode(new TextDecoder().decode(one)));
        await driver.append(name, expected, text, options);
      },
    }),
  },
  {
    name: 'cuts records at 64 KiB',
    killedBy: ['2.9'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(
          name,
          expected,
          data.map((one) => one.subarray(0, 65_536)),
          options,
        );
      },
    }),
  },
  {
    name: 'declares a larger limit than it keeps',
    killedBy: ['2.9'],
    driver: () => ({ maxRecordBytes: 4 * 1_048_576 }),
  },
  {
    name: 'keeps the bytes of the caller instead of a copy',
    killedBy: ['2.11'],
    ledger: class extends Ledger {
      readonly #driver: LedgerDriver;
      constructor(driver: LedgerDriver) {
        super(driver);
        this.#driver = driver;
      }
      override async append(
        name: string,
        tip: number,
        data: readonly Uint8Array[],
        options: LedgerCallOptions = {},
      ): Promise<{ tip: number }> {
        const valid = await super.tip(name, options);
        if (valid !== tip || !Array.isArray(data)) return await super.append(name, tip, data, options);
        await this.#driver.append(name, tip, data, {});
        return { tip: tip + data.length };
      }
    },
  },
  {
    name: 'hands out its own bytes instead of a copy',
    killedBy: ['3.6'],
    ledger: class extends Ledger {
      readonly #held = new Map<string, LedgerRecord>();
      override async *read(name: string, options = {}): AsyncGenerator<LedgerRecord, void, undefined> {
        for await (const record of super.read(name, options)) {
          const key = `${name} ${record.seq}`;
          const held = this.#held.get(key) ?? record;
          this.#held.set(key, held);
          yield held;
        }
      }
    },
  },
  {
    name: 'takes `to` as exclusive',
    killedBy: ['3.2'],
    ledger: class extends Ledger {
      override async *read(
        name: string,
        options: { to?: number } = {},
      ): AsyncGenerator<LedgerRecord, void, undefined> {
        const { to } = options;
        if (to !== undefined && to < 1) return;
        yield* super.read(name, to === undefined ? options : { ...options, to: to - 1 });
      }
    },
  },
  {
    name: 'ignores reverse',
    killedBy: ['3.3', '3.4'],
    driver: (driver) => ({
      read: (name, range, options) => driver.read(name, { ...range, reverse: false }, options),
    }),
  },
  {
    name: 'ignores the limit',
    killedBy: ['3.4'],
    driver: (driver) => ({
      read: (name, range, options) =>
        driver.read(name, { ...range, limit: Number.MAX_SAFE_INTEGER }, options),
    }),
  },
  {
    name: 'takes the limit from the wrong end when reading backward',
    killedBy: ['3.4'],
    driver: (driver) => ({
      read: (name, range, options) =>
        driver.read(
          name,
          range.reverse ? { ...range, to: Math.min(range.to, range.from + range.limit - 1) } : range,
          options,
        ),
    }),
  },
  {
    name: 'reads on into what is appended meanwhile',
    killedBy: ['3.5'],
    ledger: class extends Ledger {
      override async *read(
        name: string,
        options: { from?: number; to?: number; reverse?: boolean; limit?: number; signal?: AbortSignal } = {},
      ): AsyncGenerator<LedgerRecord, void, undefined> {
        let last = 0;
        for await (const record of super.read(name, options)) {
          yield record;
          last = record.seq;
        }
        if (options.to !== undefined || options.reverse === true || options.limit !== undefined || last === 0)
          return;
        yield* super.read(name, { ...options, from: last + 1 });
      }
    },
  },
  {
    name: 'serves every range from the beginning',
    killedBy: ['3.2'],
    driver: (driver) => ({
      read: (name, range, options) => driver.read(name, { ...range, from: 1 }, options),
    }),
  },
  {
    name: 'never frees the cursor of a read that was left early',
    killedBy: ['3.7', '6.3'],
    harness: (harness) => {
      const left = new WeakMap<Ledger, { count: number }>();
      const track = async (opening: Promise<Ledger>): Promise<Ledger> => {
        const ledger = await opening;
        const counter = { count: 0 };
        left.set(ledger, counter);
        const read = ledger.read.bind(ledger);
        ledger.read = async function* (name, options) {
          counter.count += 1;
          let ended = false;
          try {
            yield* read(name, options);
            ended = true;
          } finally {
            if (ended) counter.count -= 1;
          }
        };
        return ledger;
      };
      return {
        fresh: async () => await track(harness.fresh()),
        held: async (ledger) => left.get(ledger)?.count ?? 0,
      };
    },
  },
  {
    name: 'never frees the cursor of a list that was left early',
    killedBy: ['4.3', '6.3'],
    harness: (harness) => {
      const left = new WeakMap<Ledger, { count: number }>();
      return {
        fresh: async () => {
          const ledger = await harness.fresh();
          const counter = { count: 0 };
          left.set(ledger, counter);
          const list = ledger.list.bind(ledger);
          ledger.list = async function* (prefix, options) {
            counter.count += 1;
            yield* list(prefix, options);
            counter.count -= 1;
          };
          return ledger;
        },
        held: async (ledger) => left.get(ledger)?.count ?? 0,
      };
    },
  },
  {
    name: 'loses the end of a long read',
    killedBy: ['3.9'],
    driver: (driver) => ({
      read: (name, range, options) =>
        driver.read(name, { ...range, limit: Math.min(range.limit, 100) }, options),
    }),
  },
  {
    name: 'lets a second reader move the first',
    killedBy: ['3.8'],
    driver: (driver) => {
      let shared: { readonly iterator: AsyncIterator<LedgerRecord>; users: number } | undefined;
      return {
        read: (name, range, options) => ({
          [Symbol.asyncIterator]: () => {
            shared ??= { iterator: driver.read(name, range, options)[Symbol.asyncIterator](), users: 0 };
            const cursor = shared;
            cursor.users += 1;
            const leave = (): void => {
              cursor.users -= 1;
              if (cursor.users === 0 && shared === cursor) shared = undefined;
            };
            return {
              next: async () => {
                const step = await cursor.iterator.next();
                if (step.done === true) leave();
                return step;
              },
              return: async () => {
                leave();
                return { done: true as const, value: undefined };
              },
            };
          },
        }),
      };
    },
  },
  {
    name: 'creates a ledger when its tip is asked for',
    killedBy: ['4.1', '3.1'],
    driver: (driver, { storage }) => ({
      tip: async (name, options) => {
        if (!storage.ledgers.has(name)) storage.ledgers.set(name, []);
        return await driver.tip(name, options);
      },
    }),
  },
  {
    name: 'lists in order of creation',
    killedBy: ['4.2'],
    driver: (_, { storage }) => ({
      list: async function* (prefix) {
        for (const name of storage.ledgers.keys()) if (name.startsWith(prefix)) yield name;
      },
    }),
  },
  {
    name: 'lists a name once per record',
    killedBy: ['4.2'],
    driver: (driver, { storage }) => ({
      list: async function* (prefix, options) {
        for await (const name of driver.list(prefix, options))
          for (const _ of records(storage, name)) yield name;
      },
    }),
  },
  {
    name: 'takes a prefix for a directory',
    killedBy: ['4.2'],
    driver: (driver) => ({
      list: async function* (prefix, options) {
        for await (const name of driver.list(prefix, options)) {
          if (prefix === '' || prefix.endsWith('/') || name === prefix || name.startsWith(`${prefix}/`))
            yield name;
        }
      },
    }),
  },
  {
    name: 'takes a prefix for a pattern in which `_` is any character',
    killedBy: ['4.2'],
    driver: (driver) => ({
      list: async function* (prefix, options) {
        const pattern = new RegExp(`^${prefix.replaceAll('.', '\\.').replaceAll('_', '.')}`);
        for await (const name of driver.list('', options)) if (pattern.test(name)) yield name;
      },
    }),
  },
  {
    name: 'keeps names as files, so that one cannot be below another',
    killedBy: ['1.2'],
    driver: (driver, { storage }) => ({
      append: async (name, expected, data, options) => {
        for (const other of storage.ledgers.keys()) {
          if (other.startsWith(`${name}/`) || name.startsWith(`${other}/`)) throw new Error('EISDIR');
        }
        await driver.append(name, expected, data, options);
      },
    }),
  },
  {
    name: 'folds "/" and "." in names',
    killedBy: ['1.1'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name.replaceAll('/', '.'), expected, data, options);
      },
      read: (name, range, options) => driver.read(name.replaceAll('/', '.'), range, options),
      tip: async (name, options) => await driver.tip(name.replaceAll('/', '.'), options),
    }),
  },
  {
    name: 'cuts long names',
    killedBy: ['1.1'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name.slice(0, 255), expected, data, options);
      },
    }),
  },
  {
    name: 'takes names as they come',
    killedBy: ['1.3', '1.4'],
    ledger: class extends Ledger {
      override async tip(name: string, options?: LedgerCallOptions): Promise<number> {
        return await super.tip(
          /^[a-z0-9]/.test(name) ? name.toLowerCase().replace(/[^a-z0-9]/g, '') : 'x',
          options,
        );
      }
      override async *list(
        prefix = '',
        options?: LedgerCallOptions,
      ): AsyncGenerator<string, void, undefined> {
        yield* super.list(
          /^[a-z0-9./_-]*$/.test(prefix) && !/^[./]|\/\//.test(prefix) ? prefix : '',
          options,
        );
      }
    },
  },
  {
    name: 'deletes everything that begins with the name',
    killedBy: ['4.4'],
    driver: (_, { storage }) => ({
      delete: async (name) => {
        for (const other of [...storage.ledgers.keys()])
          if (other.startsWith(name)) storage.ledgers.delete(other);
        storage.wake();
      },
    }),
  },
  {
    name: 'fails to delete what is not there',
    killedBy: ['4.5'],
    driver: (driver, { storage }) => ({
      delete: async (name, options) => {
        if (!storage.ledgers.has(name)) throw new Error('ENOENT');
        await driver.delete(name, options);
      },
    }),
  },
  {
    name: 'keeps the count of a deleted ledger',
    killedBy: ['4.4'],
    driver: (driver) => {
      const deleted = new Map<string, number>();
      return {
        delete: async (name, options) => {
          deleted.set(name, Math.max(deleted.get(name) ?? 0, await driver.tip(name, options)));
          await driver.delete(name, options);
        },
        tip: async (name, options) => (await driver.tip(name, options)) || (deleted.get(name) ?? 0),
      };
    },
  },
  {
    name: 'still lists what was deleted',
    killedBy: ['4.4', '4.5'],
    driver: (driver) => {
      const deleted = new Set<string>();
      return {
        delete: async (name, options) => {
          deleted.add(name);
          await driver.delete(name, options);
        },
        list: async function* (prefix, options) {
          const names = new Set(deleted);
          for await (const name of driver.list(prefix, options)) names.add(name);
          yield* [...names].filter((name) => name.startsWith(prefix)).sort();
        },
      };
    },
  },
  {
    name: 'ends a read without a word when the ledger is deleted',
    killedBy: ['4.7'],
    ledger: class extends Ledger {
      override async *read(name: string, options = {}): AsyncGenerator<LedgerRecord, void, undefined> {
        try {
          yield* super.read(name, options);
        } catch (error) {
          if (!LedgerDeletedError.is(error)) throw error;
        }
      }
    },
  },
  {
    name: 'reads in pages, and ends without a word when the ledger is deleted after the first one',
    killedBy: ['4.7'],
    ledger: class extends Ledger {
      override async *read(name: string, options = {}): AsyncGenerator<LedgerRecord, void, undefined> {
        const records = super.read(name, options);
        const page: LedgerRecord[] = [];
        for (let next = await records.next(); next.done !== true; next = await records.next()) {
          page.push(next.value);
          if (page.length === 256) break;
        }
        yield* page;
        try {
          yield* records;
        } catch (error) {
          if (!LedgerDeletedError.is(error)) throw error;
        }
      }
    },
  },
  {
    name: 'reads on in the ledger that was made anew',
    killedBy: ['4.7'],
    driver: (_, { storage }) => ({
      read: async function* (name, range) {
        const step = range.reverse ? -1 : 1;
        let seq = range.reverse ? range.to : range.from;
        for (let left = range.limit; left > 0 && seq >= range.from && seq <= range.to; left -= 1) {
          const data = records(storage, name)[seq - 1];
          if (data === undefined) return;
          yield { seq, data };
          seq += step;
        }
      },
    }),
  },
  {
    name: 'wakes a follower only once',
    killedBy: ['5.1'],
    driver: (driver) => {
      let woken = 0;
      return {
        changed: async (name, tip, options) => {
          woken += 1;
          await (woken > 1
            ? new Promise<never>((_, reject) => {
                options.signal.addEventListener('abort', () => {
                  reject(options.signal.reason);
                });
              })
            : driver.changed(name, tip, options));
        },
      };
    },
  },
  {
    name: 'ends a follower at the tip',
    killedBy: ['5.1', '5.2', '5.4', '5.5'],
    ledger: class extends Ledger {
      override async *follow(
        name: string,
        options: { from?: number; signal: AbortSignal },
      ): AsyncGenerator<LedgerRecord, void, undefined> {
        yield* this.read(name, options);
      }
    },
  },
  {
    name: 'waits for ever, whatever the signal says',
    killedBy: ['5.3'],
    ledger: class extends Ledger {
      override async *follow(
        name: string,
        options: { from?: number; signal: AbortSignal },
      ): AsyncGenerator<LedgerRecord, void, undefined> {
        yield* super.follow(name, { ...options, signal: new AbortController().signal });
      }
    },
  },
  {
    name: 'does not notice that a followed ledger was deleted',
    killedBy: ['5.5'],
    ledger: class extends Ledger {
      override async *follow(
        name: string,
        options: { from?: number; signal: AbortSignal },
      ): AsyncGenerator<LedgerRecord, void, undefined> {
        let from = options.from ?? 1;
        for (;;) {
          try {
            for await (const record of super.follow(name, { ...options, from })) {
              from = record.seq + 1;
              yield record;
            }
          } catch (error) {
            if (!LedgerDeletedError.is(error)) throw error;
          }
        }
      }
    },
  },
  {
    name: 'a second view keeps the tip that it saw first',
    killedBy: ['5.6', '8.5'],
    driver: (driver, { view }) => {
      const seen = new Map<string, number>();
      return view === 0
        ? {}
        : {
            tip: async (name, options) => {
              const tip = seen.get(name) ?? (await driver.tip(name, options));
              seen.set(name, tip);
              return tip;
            },
            changed: async (name, tip, options) => {
              await driver.changed(name, -1, options);
              await new Promise((resolve) => {
                setTimeout(resolve, 5);
              });
            },
          };
    },
  },
  {
    name: 'ignores signals',
    killedBy: ['6.1', '6.3'],
    ledger: class extends Ledger {
      override async tip(name: string): Promise<number> {
        return await super.tip(name);
      }
      override async delete(name: string): Promise<void> {
        await super.delete(name);
      }
      override async *read(name: string, options = {}): AsyncGenerator<LedgerRecord, void, undefined> {
        yield* super.read(name, { ...options, signal: undefined });
      }
    },
  },
  {
    name: 'rejects aborts with an error of its own',
    killedBy: ['6.1', '6.3'],
    ledger: class extends Ledger {
      override async *read(
        name: string,
        options: { signal?: AbortSignal } = {},
      ): AsyncGenerator<LedgerRecord, void, undefined> {
        try {
          yield* super.read(name, options);
        } catch (error) {
          throw options.signal?.aborted === true ? new DOMException('aborted', 'AbortError') : error;
        }
      }
    },
  },
  {
    name: 'rejects an aborted append that it wrote',
    killedBy: ['6.2'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, expected, data, {});
        if (options.signal?.aborted === true) throw options.signal.reason;
      },
    }),
  },
  {
    name: 'undoes an append when its signal aborts later',
    killedBy: ['6.4'],
    driver: (driver, { storage }) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, expected, data, options);
        options.signal?.addEventListener('abort', () => {
          put(storage, name, records(storage, name).slice(0, expected));
        });
      },
    }),
  },
  {
    name: 'reports an unknown outcome as a failure',
    killedBy: ['7.2', '7.3'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, expected, data, options).catch((error: unknown) => {
          throw LedgerAmbiguousError.is(error) ? new Error('timeout') : error;
        });
      },
    }),
  },
  {
    name: 'retries an unknown outcome at the present tip',
    killedBy: ['7.2', '7.4'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, expected, data, options).catch(async (error: unknown) => {
          if (!LedgerAmbiguousError.is(error)) throw error;
          await driver.append(name, await driver.tip(name, options), data, options);
        });
      },
    }),
  },
  {
    name: 'settles an unknown outcome as written without looking',
    killedBy: ['7.3'],
    ledger: class extends Ledger {
      override async appendDefinite(
        name: string,
        tip: number,
        data: readonly Uint8Array[],
        options?: LedgerCallOptions,
      ): Promise<{ tip: number }> {
        try {
          return await super.append(name, tip, data, options);
        } catch (error) {
          if (LedgerAmbiguousError.is(error)) return { tip: tip + data.length };
          throw error;
        }
      }
    },
  },
  {
    name: 'a definite append does not mind conflicts',
    killedBy: ['7.1'],
    ledger: class extends Ledger {
      override async appendDefinite(
        name: string,
        tip: number,
        data: readonly Uint8Array[],
        options?: LedgerCallOptions,
      ): Promise<{ tip: number }> {
        return await super.appendDefinite(name, tip, data, options).catch(async (error: unknown) => {
          if (!LedgerConflictError.is(error)) throw error;
          return await super.append(name, await super.tip(name), data, options);
        });
      }
    },
  },
  {
    name: 'yields damaged bytes as they are',
    killedBy: ['7.5'],
    harness: () => ({ corrupt: damage }),
  },
  {
    name: 'takes a damaged record for the end',
    killedBy: ['7.5'],
    harness: (harness) => ({
      corrupt: damage,
      fresh: async () => {
        const ledger = await harness.fresh();
        const read = ledger.read.bind(ledger);
        ledger.read = async function* (name, options) {
          for await (const record of read(name, options)) {
            if (record.data[0] === 0xdd && record.data[1] === 0xdd) return;
            yield record;
          }
        };
        return ledger;
      },
    }),
  },
  {
    name: 'says damage at the wrong place',
    killedBy: ['7.5'],
    harness: (harness) => ({
      corrupt: damage,
      fresh: async () => {
        const ledger = await harness.fresh();
        const read = ledger.read.bind(ledger);
        ledger.read = async function* (name, options) {
          for await (const record of read(name, options)) {
            if (record.data[0] === 0xdd) throw new JournalCorruptError(name, 'digest-mismatch', { seq: 99 });
            yield record;
          }
        };
        return ledger;
      },
    }),
  },
  {
    name: 'throws errors without facts',
    killedBy: ['7.6', '2.3'],
    driver: (driver) => ({
      append: async (name, expected, data, options) => {
        await driver.append(name, expected, data, options).catch((error: unknown) => {
          throw LedgerConflictError.is(error) ? new LedgerConflictError('', expected) : error;
        });
      },
    }),
  },
  {
    name: 'can be used after close',
    killedBy: ['8.1'],
    ledger: class extends Ledger {
      override async close(): Promise<void> {
        await Promise.resolve();
      }
    },
  },
  {
    name: 'fails when it is closed twice',
    killedBy: ['8.1'],
    ledger: class extends Ledger {
      #closed = false;
      override async close(): Promise<void> {
        if (this.#closed) throw new Error('already closed');
        this.#closed = true;
        await super.close();
      }
    },
  },
  {
    name: 'drops appends that are under way when it is closed',
    killedBy: ['8.2'],
    driver: (driver) => {
      let closed = false;
      return {
        append: async (name, expected, data, options) => {
          await Promise.resolve();
          await Promise.resolve();
          if (!closed) await driver.append(name, expected, data, options);
        },
        close: async () => {
          closed = true;
          await driver.close();
        },
      };
    },
    ledger: class extends Ledger {
      readonly #driver: LedgerDriver;
      constructor(driver: LedgerDriver) {
        super(driver);
        this.#driver = driver;
      }
      override async close(): Promise<void> {
        await this.#driver.close();
        await super.close();
      }
    },
  },
  {
    name: 'keeps nothing over a clean end',
    killedBy: ['8.3'],
    driver: (driver, { storage }) => ({
      close: async () => {
        storage.ledgers.clear();
        await driver.close();
      },
    }),
  },
  {
    name: 'forgets deletions over a clean end',
    killedBy: ['8.3'],
    driver: (driver, { storage }) => {
      const deleted = new Map<string, Uint8Array[]>();
      return {
        delete: async (name, options) => {
          const all = storage.ledgers.get(name);
          if (all !== undefined) deleted.set(name, all);
          await driver.delete(name, options);
        },
        close: async () => {
          for (const [name, all] of deleted) storage.ledgers.set(name, all);
          await driver.close();
        },
      };
    },
  },
  {
    name: 'acknowledges before it is durable',
    killedBy: ['8.4'],
    harness: (harness) => {
      const storages = new WeakMap<Ledger, () => Promise<void>>();
      return {
        fresh: async () => {
          const ledger = await harness.fresh();
          const append = ledger.append.bind(ledger);
          ledger.append = async (name, tip, data, options) => {
            const result = await append(name, tip, data, options);
            storages.set(ledger, async () => {
              // The last acknowledged append was still in memory.
              const kept: Uint8Array[] = [];
              for await (const record of ledger.read(name, { to: tip })) kept.push(record.data);
              await ledger.delete(name);
              if (kept.length > 0) await append(name, 0, kept);
            });
            return result;
          };
          return ledger;
        },
        crash: async (ledger) => {
          await storages.get(ledger)?.();
          return await (harness.crash as (ledger: Ledger) => Promise<Ledger>)(ledger);
        },
      };
    },
  },
  {
    name: 'declares one process and lets a second one in',
    killedBy: ['8.5'],
    driver: () => ({ supports: Object.freeze({ follow: true, shared: false, durable: false }) }),
  },
  {
    name: 'declares several processes and refuses a second one',
    killedBy: ['8.5', '5.6'],
    harness: () => ({
      reopen: async () => {
        throw new LedgerInUseError('memory', undefined);
      },
    }),
  },
  {
    name: 'declares by a changing object',
    killedBy: ['8.6'],
    driver: () => ({ supports: { follow: true, shared: true, durable: false } }),
  },
];

async function damage(ledger: Ledger, name: string, seq: number): Promise<void> {
  const all: Uint8Array[] = [];
  for await (const record of ledger.read(name)) all.push(record.data);
  all[seq - 1] = Uint8Array.of(0xdd, 0xdd, seq);
  await ledger.delete(name);
  await ledger.append(name, 0, all);
}

/** One mutant per defect, over the memory driver. */
export const ledgerMutants: readonly Mutant<LedgerHarness>[] = defects.map((defect) => ({
  name: defect.name,
  killedBy: defect.killedBy,
  harness: () => {
    const storages = new WeakMap<
      Ledger,
      { storage: MemoryLedgerStorage; faults: FaultLedgerDriver; view: number }
    >();
    const open = (storage: MemoryLedgerStorage, view: number): Ledger => {
      const faults = new FaultLedgerDriver(new MemoryLedgerDriver({ storage }));
      const wrong = defect.driver?.(faults, { storage, view }) ?? {};
      const ledger = new (defect.ledger ?? Ledger)(overlay(faults, wrong));
      storages.set(ledger, { storage, faults, view });
      return ledger;
    };
    const known = (
      ledger: Ledger,
    ): { storage: MemoryLedgerStorage; faults: FaultLedgerDriver; view: number } =>
      storages.get(ledger) as { storage: MemoryLedgerStorage; faults: FaultLedgerDriver; view: number };
    const harness: LedgerHarness = {
      adapter: `mutant "${defect.name}"`,
      limits: { caseMilliseconds: 400 },
      fresh: async () => open(new MemoryLedgerStorage(), 0),
      reopen: async (ledger) => open(known(ledger).storage, known(ledger).view + 1),
      crash: async (ledger) => open(known(ledger).storage, known(ledger).view),
      loseReply: async (ledger, outcome) => {
        known(ledger).faults.arm({ operation: 'append', kind: outcome });
      },
    };
    return { ...harness, ...defect.harness?.(harness) };
  },
}));

/** The driver with some members replaced; a spread would lose the methods of its class. */
function overlay(driver: LedgerDriver, wrong: Partial<LedgerDriver>): LedgerDriver {
  return {
    contract: 'ledger/1',
    supports: wrong.supports ?? driver.supports,
    maxRecordBytes: wrong.maxRecordBytes ?? driver.maxRecordBytes,
    storagePaths: () => driver.storagePaths(),
    append: wrong.append ?? ((...call) => driver.append(...call)),
    read: wrong.read ?? ((...call) => driver.read(...call)),
    changed: wrong.changed ?? ((...call) => driver.changed(...call)),
    tip: wrong.tip ?? ((...call) => driver.tip(...call)),
    list: wrong.list ?? ((...call) => driver.list(...call)),
    delete: wrong.delete ?? ((...call) => driver.delete(...call)),
    close: wrong.close ?? (() => driver.close()),
  };
}

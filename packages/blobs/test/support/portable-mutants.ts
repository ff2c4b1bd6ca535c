import { InvalidNameError } from '@holdfast/base';
import type { Mutant } from '@holdfast/base/testing';
import {
  BlobNotFoundError,
  type BlobReader,
  type BlobSource,
  BlobSourceError,
  Blobs,
  BlobsBackendError,
  BlobsClosedError,
  type BlobsGetOptions,
  type BlobsOptions,
  type PutResult,
  type ReopenableSource,
} from '@holdfast/blobs';
import type { BlobsHarness } from '@holdfast/blobs/testing';

import { keysOf, SpareStorage, spareDriver, spareHarness } from './spare-driver.js';

/** One deliberate mistake in what callers hold: the portable class, or a class that pretends to be one. */
function mutant(
  name: string,
  killedBy: readonly string[],
  open: (storage: SpareStorage) => Blobs,
  changes: Partial<BlobsHarness> = {},
): Mutant<BlobsHarness> {
  return { name, killedBy, harness: () => spareHarness(open, changes) };
}

function over(storage: SpareStorage, Class: typeof Blobs): Blobs {
  return new Class(spareDriver(storage));
}

const isSource = (source: BlobSource): source is ReopenableSource => !(source instanceof Uint8Array);

/** A reader whose stream goes through `change`. */
function changedReader(
  reader: BlobReader,
  change: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
): BlobReader {
  return {
    size: reader.size,
    bytes: async () => await reader.bytes(),
    close: async () => {
      await reader.close();
    },
    [Symbol.asyncIterator]: () => change(reader)[Symbol.asyncIterator](),
    [Symbol.asyncDispose]: async () => {
      await reader.close();
    },
  };
}

/** Wrong portable classes, each with the clauses whose cases must catch it. */
export const portableMutants: readonly Mutant<BlobsHarness>[] = [
  mutant('looks up illegal names', ['1.3'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async stat(key: string, options?: BlobsOptions): ReturnType<Blobs['stat']> {
          try {
            return await super.stat(key, options);
          } catch (error) {
            if (InvalidNameError.is(error)) return undefined;
            throw error;
          }
        }
      },
    ),
  ),
  mutant('lists illegal prefixes as empty', ['1.4'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async *list(prefix?: string, options?: BlobsOptions): ReturnType<Blobs['list']> {
          try {
            yield* super.list(prefix, options);
          } catch (error) {
            if (!InvalidNameError.is(error)) throw error;
          }
        }
      },
    ),
  ),
  mutant('takes anything for a source', ['1.5'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async put(key: string, source: BlobSource, options?: BlobsOptions): Promise<PutResult> {
          const usable = source instanceof Uint8Array || typeof source?.open === 'function';
          return await super.put(key, usable ? source : new Uint8Array(), options);
        }
      },
    ),
  ),
  mutant('reports a failed source as a failed backend', ['2.8'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async put(key: string, source: BlobSource, options?: BlobsOptions): Promise<PutResult> {
          try {
            return await super.put(key, source, options);
          } catch (error) {
            if (BlobSourceError.is(error) && error.kind === 'failed') {
              throw new BlobsBackendError('put', key, { cause: error.cause });
            }
            throw error;
          }
        }
      },
    ),
  ),
  mutant('does not copy the bytes of a put', ['2.11'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async put(key: string, source: BlobSource, options?: BlobsOptions): Promise<PutResult> {
          if (isSource(source)) return await super.put(key, source, options);
          const lazy = async function* () {
            if (source.length > 0) yield await Promise.resolve(source);
          };
          return await super.put(key, { size: source.length, open: lazy }, options);
        }
      },
    ),
  ),
  mutant('reads a source ahead without copying', ['2.12'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async put(key: string, source: BlobSource, options?: BlobsOptions): Promise<PutResult> {
          if (!isSource(source)) return await super.put(key, source, options);
          const ahead = async function* () {
            let held: Uint8Array | undefined;
            for await (const chunk of source.open()) {
              if (held !== undefined) yield held;
              held = chunk;
            }
            if (held !== undefined) yield held;
          };
          return await super.put(key, { size: source.size, open: ahead }, options);
        }
      },
    ),
  ),
  mutant('never closes a source', ['2.14', '8.3'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async put(key: string, source: BlobSource, options?: BlobsOptions): Promise<PutResult> {
          if (!isSource(source)) return await super.put(key, source, options);
          const open = (): AsyncIterable<Uint8Array> => ({
            [Symbol.asyncIterator]: () => {
              const iterator = source.open()[Symbol.asyncIterator]();
              return { next: async () => await iterator.next() };
            },
          });
          const size: unknown = source.size;
          return await super.put(key, { size: size as number, open }, options);
        }
      },
    ),
  ),
  mutant('cuts a range at the end of the object', ['3.4'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async get(key: string, options: BlobsGetOptions = {}): Promise<BlobReader> {
          const { range } = options;
          const size = (await super.stat(key, options))?.size ?? 0;
          if (range === undefined || range.end <= size || range.start > range.end)
            return await super.get(key, options);
          return await super.get(key, {
            ...options,
            range: { start: Math.min(range.start, size), end: size },
          });
        }
      },
    ),
  ),
  mutant('hands out the same array again and again', ['3.5'], (storage) =>
    over(
      storage,
      class extends Blobs {
        readonly #known = new Map<string, Uint8Array>();

        override async getBytes(key: string, options: BlobsGetOptions = {}): Promise<Uint8Array> {
          const info = await super.stat(key, options);
          const id = `${key} ${info?.modified} ${JSON.stringify(options.range)}`;
          const bytes = this.#known.get(id) ?? (await super.getBytes(key, options));
          this.#known.set(id, bytes);
          return bytes;
        }
      },
    ),
  ),
  mutant('lets chunks share one buffer', ['3.5'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async get(key: string, options?: BlobsGetOptions): Promise<BlobReader> {
          const reader = await super.get(key, options);
          return changedReader(reader, async function* (chunks) {
            const shared = new Uint8Array(65_536);
            for await (const chunk of chunks) {
              shared.set(chunk);
              yield shared.subarray(0, chunk.length);
            }
          });
        }
      },
    ),
  ),
  mutant('reads an object again as empty', ['3.8'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async get(key: string, options?: BlobsGetOptions): Promise<BlobReader> {
          const reader = await super.get(key, options);
          return changedReader(reader, async function* (chunks) {
            try {
              yield* chunks;
            } catch (error) {
              if (!(error instanceof TypeError)) throw error;
            }
          });
        }
      },
    ),
  ),
  mutant('ignores the signal of stat', ['8.1'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async stat(key: string): ReturnType<Blobs['stat']> {
          return await super.stat(key);
        }
      },
    ),
  ),
  mutant('rejects with an AbortError of its own', ['8.1', '8.2'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async put(key: string, source: BlobSource, options: BlobsOptions = {}): Promise<PutResult> {
          try {
            return await super.put(key, source, options);
          } catch (error) {
            if (options.signal?.aborted !== true) throw error;
            throw new DOMException('The operation was aborted', { name: 'AbortError', cause: error });
          }
        }
      },
    ),
  ),
  mutant('ignores the signal of put', ['8.1', '8.2', '8.3', '8.7'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async put(key: string, source: BlobSource): Promise<PutResult> {
          return await super.put(key, source);
        }
      },
    ),
  ),
  mutant('ends an aborted read as if the object were shorter', ['8.4'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async get(key: string, options: BlobsGetOptions = {}): Promise<BlobReader> {
          const reader = await super.get(key, options);
          return changedReader(reader, async function* (chunks) {
            try {
              yield* chunks;
            } catch (error) {
              if (options.signal?.aborted !== true) throw error;
            }
          });
        }
      },
    ),
  ),
  mutant('ends an aborted list as if there were no more', ['8.5'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async *list(prefix?: string, options: BlobsOptions = {}): ReturnType<Blobs['list']> {
          try {
            yield* super.list(prefix, options);
          } catch (error) {
            if (options.signal?.aborted !== true) throw error;
          }
        }
      },
    ),
  ),
  mutant('takes an object back when its signal aborts later', ['8.6'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async put(key: string, source: BlobSource, options: BlobsOptions = {}): Promise<PutResult> {
          const result = await super.put(key, source, options);
          options.signal?.addEventListener('abort', () => storage.visible.delete(key));
          return result;
        }
      },
    ),
  ),
  mutant('aborts every put of a key together', ['8.7'], (storage) =>
    over(
      storage,
      class extends Blobs {
        readonly #shared = new Map<string, AbortController>();

        override async put(key: string, source: BlobSource, options: BlobsOptions = {}): Promise<PutResult> {
          const shared = this.#shared.get(key) ?? new AbortController();
          this.#shared.set(key, shared);
          options.signal?.addEventListener('abort', () => {
            shared.abort(options.signal?.reason);
          });
          options.signal?.throwIfAborted();
          try {
            return await super.put(key, source, { signal: shared.signal });
          } finally {
            this.#shared.delete(key);
          }
        }
      },
    ),
  ),
  mutant('answers stat after close', ['9.1'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async stat(key: string, options?: BlobsOptions): ReturnType<Blobs['stat']> {
          try {
            return await super.stat(key, options);
          } catch (error) {
            if (BlobsClosedError.is(error)) return undefined;
            throw error;
          }
        }
      },
    ),
  ),
  mutant('can be closed only once', ['9.2'], (storage) =>
    over(
      storage,
      class extends Blobs {
        #closed = false;

        override async close(): Promise<void> {
          if (this.#closed) throw new BlobsClosedError();
          this.#closed = true;
          await super.close();
        }
      },
    ),
  ),
  mutant('closes without ending what runs', ['9.3'], (storage) => {
    const right = spareDriver(storage);
    return new (class extends Blobs {
      #closed = false;

      override async close(): Promise<void> {
        this.#closed = true;
        await Promise.resolve();
      }

      override async put(key: string, source: BlobSource, options?: BlobsOptions): Promise<PutResult> {
        if (this.#closed) throw new BlobsClosedError();
        return await super.put(key, source, options);
      }
    })(right);
  }),
  mutant('accepts every need', ['10.2'], (storage) => {
    const right = spareDriver(storage);
    return new (class extends Blobs {
      override assertSupports(): void {
        // Nothing is ever refused.
      }
    })({ ...right, supports: { visibility: 'strong', durable: false } });
  }),
  mutant('lists what another fresh store holds', ['7.4'], () => over(everyone, Blobs)),
  mutant(
    'finds nothing where the harness expects durability',
    ['11.1', '11.2'],
    (storage) => over(storage, Blobs),
    {
      crash: async () => await Promise.resolve(over(new SpareStorage(), Blobs)),
    },
  ),
  mutant('finds absent what it just listed', ['3.2'], (storage) =>
    over(
      storage,
      class extends Blobs {
        override async get(key: string, options?: BlobsGetOptions): Promise<BlobReader> {
          if (keysOf(storage, key).length === 1 && storage.visible.get(key)?.size === 300_001) {
            throw new BlobNotFoundError(key);
          }
          return await super.get(key, options);
        }
      },
    ),
  ),
];

const everyone = new SpareStorage();

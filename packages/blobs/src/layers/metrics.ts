import { type Clock, isHoldfastError, systemClock } from '@holdfast/base';

import type {
  BlobContent,
  BlobEntry,
  BlobsDriver,
  DriverGetOptions,
  DriverOptions,
  ReopenableSource,
} from '../driver.js';
import type { BlobsLayer } from './layer.js';

/** One finished call. Reads and lists are finished when their consumer is. */
export interface BlobsMetric {
  readonly operation: 'put' | 'get' | 'stat' | 'list' | 'delete';
  /** The key, or the prefix of a list. */
  readonly key: string;
  /** `ok`, `aborted`, the code of the error, or `left` when a consumer left early. */
  readonly outcome: string;
  readonly durationMs: number;
  /** Bytes that went to the backend (every attempt counts) or came from it. */
  readonly bytes: number;
  /** Entries of a list. */
  readonly entries: number;
}

export interface MetricsOptions {
  readonly clock?: Clock | undefined;
}

/** Tells a listener about every call. A listener that throws is ignored: watching must not change what is watched. */
export function metricsLayer(
  listener: (metric: BlobsMetric) => void,
  options: MetricsOptions = {},
): BlobsLayer {
  return (driver) => new MeasuredDriver(driver, listener, options.clock ?? systemClock);
}

interface Measurement {
  bytes: number;
  entries: number;
  /** Reports once; later calls are ignored. */
  end(outcome: string): void;
}

class MeasuredDriver implements BlobsDriver {
  readonly contract = 'blobs/1';
  readonly supports: BlobsDriver['supports'];
  readonly #driver: BlobsDriver;
  readonly #listener: (metric: BlobsMetric) => void;
  readonly #clock: Clock;

  constructor(driver: BlobsDriver, listener: (metric: BlobsMetric) => void, clock: Clock) {
    this.supports = driver.supports;
    this.#driver = driver;
    this.#listener = listener;
    this.#clock = clock;
  }

  storagePaths(): readonly string[] {
    return this.#driver.storagePaths();
  }

  async put(
    key: string,
    source: ReopenableSource,
    options: DriverOptions,
  ): Promise<{ readonly created: boolean }> {
    return await this.#measure('put', key, options.signal, async (measurement) => {
      const counted = { size: source.size, open: () => counting(source.open(), measurement) };
      return await this.#driver.put(key, counted, options);
    });
  }

  async get(key: string, options: DriverGetOptions): Promise<BlobContent> {
    const measurement = this.#begin('get', key);
    try {
      const content = await this.#driver.get(key, options);
      const chunks = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
        try {
          yield* counting(content.chunks, measurement);
          measurement.end('ok');
        } catch (error) {
          measurement.end(outcomeOf(error, options.signal));
          throw error;
        }
      };
      return {
        size: content.size,
        chunks: chunks(),
        close: async () => {
          measurement.end(options.signal?.aborted === true ? 'aborted' : 'left');
          await content.close();
        },
      };
    } catch (error) {
      measurement.end(outcomeOf(error, options.signal));
      throw error;
    }
  }

  async stat(...call: Parameters<BlobsDriver['stat']>): ReturnType<BlobsDriver['stat']> {
    const [key, { signal }] = call;
    return await this.#measure('stat', key, signal, async () => await this.#driver.stat(...call));
  }

  async *list(prefix: string, options: DriverOptions): AsyncGenerator<BlobEntry, void, undefined> {
    const measurement = this.#begin('list', prefix);
    try {
      for await (const entry of this.#driver.list(prefix, options)) {
        measurement.entries += 1;
        yield entry;
      }
      measurement.end('ok');
    } catch (error) {
      measurement.end(outcomeOf(error, options.signal));
      throw error;
    } finally {
      measurement.end(options.signal?.aborted === true ? 'aborted' : 'left');
    }
  }

  async delete(...call: Parameters<BlobsDriver['delete']>): Promise<void> {
    const [key, { signal }] = call;
    await this.#measure('delete', key, signal, async () => {
      await this.#driver.delete(...call);
    });
  }

  async close(): Promise<void> {
    await this.#driver.close();
  }

  async #measure<T>(
    operation: BlobsMetric['operation'],
    key: string,
    signal: AbortSignal | undefined,
    call: (measurement: Measurement) => Promise<T>,
  ): Promise<T> {
    const measurement = this.#begin(operation, key);
    try {
      const result = await call(measurement);
      measurement.end('ok');
      return result;
    } catch (error) {
      measurement.end(outcomeOf(error, signal));
      throw error;
    }
  }

  #begin(operation: BlobsMetric['operation'], key: string): Measurement {
    const started = this.#clock.monotonic();
    let ended = false;
    const measurement: Measurement = {
      bytes: 0,
      entries: 0,
      end: (outcome) => {
        if (ended) return;
        ended = true;
        const { bytes, entries } = measurement;
        const durationMs = this.#clock.monotonic() - started;
        try {
          this.#listener({ operation, key, outcome, durationMs, bytes, entries });
        } catch {
          // Said in the description: a listener cannot make a call fail.
        }
      },
    };
    return measurement;
  }
}

async function* counting(
  chunks: AsyncIterable<Uint8Array>,
  measurement: Measurement,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    measurement.bytes += chunk.length;
    yield chunk;
  }
}

function outcomeOf(error: unknown, signal: AbortSignal | undefined): string {
  if (signal?.aborted === true && error === signal.reason) return 'aborted';
  return isHoldfastError(error) ? error.code : 'BLOBS_BACKEND';
}

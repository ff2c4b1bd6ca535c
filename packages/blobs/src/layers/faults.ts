import { type Clock, concatBytes, systemClock } from '@holdfast/base';

import type {
  BlobContent,
  BlobEntry,
  BlobsDriver,
  DriverGetOptions,
  DriverOptions,
  ReopenableSource,
} from '../driver.js';
import { BlobNotFoundError, BlobsAmbiguousError, BlobsBackendError } from '../errors.js';
import { brokenChunks, brokenEntries } from './broken-streams.js';
import type { Fault, FaultOperation, FaultPlan } from './fault-plan.js';
import type { BlobsLayer } from './layer.js';

export interface FaultOptions {
  /** Waits for `slow`, `throttled` and `late`. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

/** Makes a store fail by plan, for tests of what depends on it. Never for production. */
export function faultLayer(plan: FaultPlan, options: FaultOptions = {}): BlobsLayer {
  return (driver) => new FaultyDriver(driver, plan, options.clock ?? systemClock);
}

class FaultyDriver implements BlobsDriver {
  readonly contract = 'blobs/1';
  readonly supports: BlobsDriver['supports'];
  readonly #driver: BlobsDriver;
  readonly #plan: FaultPlan;
  readonly #clock: Clock;
  readonly #late = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(driver: BlobsDriver, plan: FaultPlan, clock: Clock) {
    this.supports = driver.supports;
    this.#driver = driver;
    this.#plan = plan;
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
    const fault = await this.#before('put', key, options);
    const put = async (from = source): Promise<{ readonly created: boolean }> =>
      await this.#driver.put(key, from, options);
    switch (fault?.kind) {
      case 'lost-reply':
        await put();
        throw ambiguous(fault, key);
      case 'late': {
        const bytes = await drain(source);
        this.#later(fault, async () => {
          await this.#driver.put(key, { size: source.size, open: () => once(bytes) }, {});
        });
        throw ambiguous(fault, key);
      }
      case 'twice': {
        const first = await put();
        await put();
        return first;
      }
      case 'dropped':
        await drain(source);
        return { created: true };
      case 'overwrite':
        await this.#driver.delete(key, options);
        return await put();
      default:
        return await put();
    }
  }

  async get(key: string, options: DriverGetOptions): Promise<BlobContent> {
    const fault = await this.#before('get', key, options);
    if (fault?.kind === 'absent') throw new BlobNotFoundError(key);
    const content = await this.#driver.get(key, options);
    const broken = this.#plan.next('read', key);
    if (broken === undefined) return content;
    const chunks = brokenChunks(content.chunks, broken, key, async () => {
      await this.#wait(broken, options.signal);
    });
    return {
      size: content.size,
      chunks,
      close: async () => {
        await content.close();
      },
    };
  }

  async stat(...call: Parameters<BlobsDriver['stat']>): ReturnType<BlobsDriver['stat']> {
    const [key, options] = call;
    const fault = await this.#before('stat', key, options);
    return fault?.kind === 'absent' ? undefined : await this.#driver.stat(...call);
  }

  async *list(prefix: string, options: DriverOptions): AsyncGenerator<BlobEntry, void, undefined> {
    const fault = await this.#before('list', prefix, options);
    if (fault?.kind === 'absent') return;
    const entries = this.#driver.list(prefix, options);
    yield* fault === undefined ? entries : brokenEntries(entries, fault, prefix);
  }

  async delete(...call: Parameters<BlobsDriver['delete']>): Promise<void> {
    const [key, options] = call;
    const fault = await this.#before('delete', key, options);
    switch (fault?.kind) {
      case 'lost-reply':
        await this.#driver.delete(...call);
        throw new BlobsAmbiguousError('delete', key, { cause: injected(fault) });
      case 'late':
        this.#later(fault, async () => {
          await this.#driver.delete(key, {});
        });
        throw new BlobsAmbiguousError('delete', key, { cause: injected(fault) });
      case 'dropped':
        return;
      case 'twice':
        await this.#driver.delete(...call);
        await this.#driver.delete(...call);
        return;
      default:
        await this.#driver.delete(...call);
    }
  }

  /** Late effects that are still waiting happen before the end, as they would on a server. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#late);
    await this.#driver.close();
  }

  async #before(operation: FaultOperation, key: string, options: DriverOptions): Promise<Fault | undefined> {
    const fault = this.#plan.next(operation, key);
    if (fault === undefined) return undefined;
    if (fault.kind === 'hang' || fault.kind === 'slow' || fault.kind === 'throttled') {
      await this.#wait(fault, options.signal);
    }
    if (fault.kind === 'busy' || fault.kind === 'denied' || fault.kind === 'throttled') {
      const call = operation === 'read' ? 'get' : operation;
      throw new BlobsBackendError(call, key, { cause: injected(fault), retryable: fault.kind !== 'denied' });
    }
    return fault;
  }

  async #wait(fault: Fault, signal: AbortSignal | undefined): Promise<void> {
    if (fault.kind === 'hang') await untilAborted(signal);
    else await this.#clock.sleep(fault.milliseconds ?? 1000, { signal });
  }

  #later(fault: Fault, effect: () => Promise<void>): void {
    const run = async (): Promise<void> => {
      await this.#clock
        .sleep(fault.milliseconds ?? 1000, { signal: this.#closing.signal })
        .catch(() => undefined);
      // The server's own business by now: nobody is there to hear of a failure.
      await effect().catch(() => undefined);
    };
    const late = run().finally(() => this.#late.delete(late));
    this.#late.add(late);
  }
}

function ambiguous(fault: Fault, key: string): BlobsAmbiguousError {
  return new BlobsAmbiguousError('put', key, { cause: injected(fault) });
}

/** The cause under every injected failure: tests can tell it from a real one. */
function injected(fault: Fault): Error {
  return new Error(`injected fault: ${fault.kind} ${fault.operation}`);
}

async function drain(source: ReopenableSource): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of source.open()) parts.push(new Uint8Array(chunk));
  return concatBytes(parts);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  if (bytes.length > 0) yield await Promise.resolve(bytes);
}

async function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return await new Promise<never>((_, reject) => {
    const abort = (): void => {
      reject(signal?.reason);
    };
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

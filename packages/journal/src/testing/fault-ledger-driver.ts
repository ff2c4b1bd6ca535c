import type {
  LedgerDriver,
  LedgerDriverOptions,
  LedgerRange,
  LedgerRecord,
  LedgerSupports,
} from '../driver.js';
import { LedgerAmbiguousError } from '../errors.js';

/** What goes wrong, as data: a plan that failed is a regression test. */
export interface LedgerFault {
  readonly operation: 'append' | 'read' | 'tip' | 'list' | 'delete';
  /**
   * `error`: fails, nothing happens. `landed`: takes effect, then the reply is lost. `not-landed`: the reply is lost and
   * nothing happens. `late`: the reply is lost, and the append takes effect when `deliver` is called.
   */
  readonly kind: 'error' | 'landed' | 'not-landed' | 'late';
  /** Calls of the operation that pass before this fault; default 0. */
  readonly after?: number | undefined;
  /** How many calls fail; default 1. */
  readonly times?: number | undefined;
  /** The error of kind `error`, and the cause of the others. */
  readonly error?: unknown;
}

interface ArmedFault {
  readonly fault: LedgerFault;
  after: number;
  times: number;
}

/** Passes calls on to another driver, and fails those that were armed to fail. */
export class FaultLedgerDriver implements LedgerDriver {
  readonly contract = 'ledger/1' as const;
  readonly #inner: LedgerDriver;
  readonly #armed: ArmedFault[] = [];
  readonly #late: (() => Promise<void>)[] = [];

  constructor(inner: LedgerDriver) {
    this.#inner = inner;
  }

  get supports(): LedgerSupports {
    return this.#inner.supports;
  }

  get maxRecordBytes(): number {
    return this.#inner.maxRecordBytes;
  }

  /** Adds a fault; faults of one operation happen in the order in which they were armed. */
  arm(fault: LedgerFault): void {
    this.#armed.push({ fault, after: fault.after ?? 0, times: fault.times ?? 1 });
  }

  /** Lets the late appends arrive; those that conflict by now are lost, as they would be. */
  async deliver(): Promise<void> {
    for (const send of this.#late.splice(0)) await send().catch(() => undefined);
  }

  storagePaths(): readonly string[] {
    return this.#inner.storagePaths();
  }

  async append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerDriverOptions,
  ): Promise<void> {
    const fault = this.#take('append');
    const send = async (): Promise<void> => {
      await this.#inner.append(name, expectedTip, records, options);
    };
    switch (fault?.kind) {
      case undefined:
        await send();
        return;
      case 'error':
        throw failure(fault);
      case 'landed':
        await send();
        break;
      case 'late':
        this.#late.push(send);
        break;
      case 'not-landed':
        break;
    }
    throw new LedgerAmbiguousError(name, expectedTip, { cause: failure(fault) });
  }

  async *read(
    name: string,
    range: LedgerRange,
    options: LedgerDriverOptions,
  ): AsyncGenerator<LedgerRecord, void, undefined> {
    this.#fail('read');
    yield* this.#inner.read(name, range, options);
  }

  async changed(name: string, tip: number, options: { readonly signal: AbortSignal }): Promise<void> {
    await this.#inner.changed(name, tip, options);
  }

  async tip(name: string, options: LedgerDriverOptions): Promise<number> {
    this.#fail('tip');
    return await this.#inner.tip(name, options);
  }

  async *list(prefix: string, options: LedgerDriverOptions): AsyncGenerator<string, void, undefined> {
    this.#fail('list');
    yield* this.#inner.list(prefix, options);
  }

  async delete(name: string, options: LedgerDriverOptions): Promise<void> {
    this.#fail('delete');
    await this.#inner.delete(name, options);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  #fail(operation: LedgerFault['operation']): void {
    const fault = this.#take(operation);
    if (fault !== undefined) throw failure(fault);
  }

  #take(operation: LedgerFault['operation']): LedgerFault | undefined {
    const index = this.#armed.findIndex(({ fault }) => fault.operation === operation);
    const armed = this.#armed[index];
    if (armed === undefined) return undefined;
    if (armed.after > 0) {
      armed.after -= 1;
      return undefined;
    }
    armed.times -= 1;
    if (armed.times === 0) this.#armed.splice(index, 1);
    return armed.fault;
  }
}

function failure(fault: LedgerFault): unknown {
  return fault.error ?? new Error(`injected ${fault.kind} of ${fault.operation}`);
}

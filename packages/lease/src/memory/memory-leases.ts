import type { LeaseOwner } from '../driver.js';
import { LeaseLostError, type LeaseLostKind } from '../errors.js';

/** A grant as the shared storage knows it; the holder's half is in `memory-leaser.ts`. */
export interface MemoryHolder {
  readonly epoch: number;
  readonly owner: LeaseOwner;
  /** Tells the holder that it has lost the lease. */
  lose(reason: LeaseLostError): void;
}

interface MemoryEntry {
  epoch: number;
  holder: MemoryHolder | undefined;
  readonly waiters: Set<() => void>;
}

/**
 * What several memory leasers share, as several processes share a directory. Also the place where tests end leases from
 * outside, as a suspended machine or a broken network would.
 */
export class MemoryLeases {
  readonly #entries = new Map<string, MemoryEntry>();

  /**
   * Ends the present grant of `name` as if its holder had been cut off; `false` when nobody holds it. With
   * `silently: true` the holder is not told, like a process that is stopped: it finds out when it checks.
   */
  expire(
    name: string,
    options: { readonly kind?: LeaseLostKind; readonly silently?: boolean } = {},
  ): boolean {
    const holder = this.#entries.get(name)?.holder;
    if (holder === undefined) return false;
    if (options.silently !== true) {
      holder.lose(new LeaseLostError(name, holder.epoch, options.kind ?? 'expired'));
    }
    this.free(name, holder);
    return true;
  }

  /** The highest epoch ever granted for `name`; 0 when there was none. */
  epoch(name: string): number {
    return this.#entries.get(name)?.epoch ?? 0;
  }

  /** Who holds `name` now. */
  holder(name: string): MemoryHolder | undefined {
    return this.#entries.get(name)?.holder;
  }

  /** Grants to whoever `make` builds for the next epoch. The name must be free. @internal */
  grant<T extends MemoryHolder>(name: string, above: number, make: (epoch: number) => T): T {
    const entry = this.#entry(name);
    if (entry.holder !== undefined) throw new Error(`memory lease ${name} was granted while held`);
    const holder = make(Math.max(entry.epoch, above) + 1);
    entry.epoch = holder.epoch;
    entry.holder = holder;
    return holder;
  }

  /** Frees `name` if, and only if, `holder` still has it. @internal */
  free(name: string, holder: MemoryHolder): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.holder !== holder) return;
    entry.holder = undefined;
    const waiters = [...entry.waiters];
    entry.waiters.clear();
    for (const wake of waiters) wake();
  }

  /** Calls `wake` once when `name` gets free; disposing stops waiting. @internal */
  onFree(name: string, wake: () => void): Disposable {
    const { waiters } = this.#entry(name);
    waiters.add(wake);
    return {
      [Symbol.dispose]: () => {
        waiters.delete(wake);
      },
    };
  }

  #entry(name: string): MemoryEntry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = { epoch: 0, holder: undefined, waiters: new Set() };
      this.#entries.set(name, entry);
    }
    return entry;
  }
}

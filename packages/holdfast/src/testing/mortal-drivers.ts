import type { BlobsDriver } from '@holdfast/blobs';
import type { LedgerDriver } from '@holdfast/journal';
import type {
  DriverAcquireOptions,
  LeaseGrant,
  LeaserDriver,
  LeaserSupports,
  MemoryLeases,
} from '@holdfast/lease';

/** Whether a process of a test world still lives, and what it holds. */
export class Mortality {
  readonly #leases: MemoryLeases;
  readonly #held = new Map<string, number>();
  #dead = false;

  constructor(leases: MemoryLeases) {
    this.#leases = leases;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Lets nothing through any more, and frees what it holds without telling it. */
  die(): void {
    this.#dead = true;
    for (const [name, epoch] of this.#held) {
      if (this.#leases.holder(name)?.epoch === epoch) this.#leases.expire(name, { silently: true });
    }
    this.#held.clear();
  }

  /** @throws Error when the process was killed. */
  check(): void {
    if (this.#dead) throw new Error('the process of this test world that asks was killed');
  }

  holds(name: string, epoch: number): void {
    this.#held.set(name, epoch);
  }
}

/** Passes calls on as long as the process lives; a dead one can still close. */
export function mortal<Driver extends BlobsDriver | LedgerDriver>(
  driver: Driver,
  mortality: Mortality,
): Driver {
  return new Proxy(driver, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: readonly unknown[]): unknown => {
        if (name !== 'close' && name !== 'storagePaths') mortality.check();
        return Reflect.apply(member as (...list: readonly unknown[]) => unknown, target, given);
      };
    },
  });
}

/** The leases of one process. */
export class MortalLeaserDriver implements LeaserDriver {
  readonly contract = 'lease/1';
  readonly supports: LeaserSupports;
  readonly #inner: LeaserDriver;
  readonly #mortality: Mortality;

  constructor(inner: LeaserDriver, mortality: Mortality) {
    this.supports = inner.supports;
    this.#inner = inner;
    this.#mortality = mortality;
  }

  storagePaths(): readonly string[] {
    return this.#inner.storagePaths();
  }

  async acquire(name: string, options: DriverAcquireOptions): Promise<LeaseGrant> {
    this.#mortality.check();
    const grant = await this.#inner.acquire(name, options);
    this.#mortality.holds(name, grant.epoch);
    return grant;
  }

  async changed(name: string, options: { readonly signal: AbortSignal }): Promise<void> {
    this.#mortality.check();
    await this.#inner.changed(name, options);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }
}

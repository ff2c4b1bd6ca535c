import { parseName } from '@holdfast/base';

import type { DriverAcquireOptions, LeaseGrant, LeaserDriver, LeaserSupports } from './driver.js';
import { Leaser } from './leaser.js';

/**
 * Makes a view of `leaser` in which every name lives below `prefix`, so that several users of one backend cannot meet.
 * Closing the view ends its own leases and leaves `leaser` open. Names get shorter by the prefix and its slash.
 * @throws InvalidNameError when the prefix is not a legal name.
 */
export function prefixedLeaser(leaser: Leaser, prefix: string): Leaser {
  return new Leaser(new PrefixedLeaserDriver(leaser.driver, parseName(prefix)));
}

class PrefixedLeaserDriver implements LeaserDriver {
  readonly contract = 'lease/1';
  readonly #inner: LeaserDriver;
  readonly #prefix: string;

  constructor(inner: LeaserDriver, prefix: string) {
    this.#inner = inner;
    this.#prefix = prefix;
  }

  get supports(): LeaserSupports {
    return this.#inner.supports;
  }

  storagePaths(): readonly string[] {
    return this.#inner.storagePaths();
  }

  checkName(name: string): void {
    const whole = this.#whole(name);
    this.#inner.checkName?.(whole);
  }

  async acquire(name: string, options: DriverAcquireOptions): Promise<LeaseGrant> {
    return await this.#inner.acquire(this.#whole(name), options);
  }

  async changed(name: string, options: { readonly signal: AbortSignal }): Promise<void> {
    await this.#inner.changed(this.#whole(name), options);
  }

  async close(): Promise<void> {
    // The portable class has already ended the grants of this view; the inner driver belongs to somebody else.
  }

  /** The error for a name that gets too long names the whole, because that is what broke the rule. */
  #whole(name: string): string {
    return parseName(`${this.#prefix}/${name}`);
  }
}

import type { ContractHarness } from '@holdfast/base/testing';

import type { Lease } from '../lease.js';
import type { Leaser } from '../leaser.js';

/**
 * What the author of an adapter writes to run the suite. Optional functions stand for facts that not every backend has;
 * where one is absent the suite checks that it may be absent.
 */
export interface LeaserHarness extends ContractHarness {
  /** Opens a leaser over fresh, empty storage. */
  readonly fresh: () => Promise<Leaser>;
  /**
   * Opens an independent second view of the storage of `leaser`, as another process or client would. `leaser` may be
   * closed already.
   */
  readonly reopen: (leaser: Leaser) => Promise<Leaser>;
  /**
   * Cuts the holder of `lease` off from its backend, while its process runs on, until the lease has run out. When this
   * resolves, the holder must have been told, and other views must be able to get the name. Absent: leases never run
   * out, and `expiresIn()` must be `Infinity`.
   */
  readonly expire?: ((lease: Lease, leaser: Leaser) => Promise<void>) | undefined;
  /**
   * Stops the holder of `lease` (a suspended process, a long pause) until others can get the name. When this resolves,
   * the holder goes on, knows nothing yet, and can reach its backend. Absent: as for `expire`.
   */
  readonly suspend?: ((lease: Lease, leaser: Leaser) => Promise<void>) | undefined;
  /**
   * Ends the process behind `leaser` as SIGKILL does: no release, no renewal, nothing. When this resolves, its leases
   * must be free for others; the suite does not use or close the leaser any more. Absent: only for scope `process`.
   */
  readonly crash?: ((leaser: Leaser) => Promise<void>) | undefined;
  /** Damages what is stored for `name`. Absent: only for drivers that write no local files. */
  readonly corrupt?: ((leaser: Leaser, name: string) => Promise<void>) | undefined;
  /**
   * Makes every backend call of `leaser` fail until the returned function is called; short enough that nothing expires.
   * Absent: only for drivers whose storage is the memory of this process.
   */
  readonly outage?: ((leaser: Leaser) => Promise<() => void>) | undefined;
  /** Moves a fake clock. Absent: time passes by itself. */
  readonly advance?: ((milliseconds: number) => Promise<void>) | undefined;
  /** The longest name that this view accepts, in bytes; less than 512 only for layers that lengthen names. */
  readonly longestName?: number | undefined;
}

import type { ContractHarness } from '@holdfast/base/testing';

import type { Lease } from '../lease.js';
import type { Leaser } from '../leaser.js';

/**
 * What the author of an adapter writes to run the suite. Optional functions stand for facts that not every backend has;
 * where one is absent the suite checks that it may be absent.
 */
export interface LeaserHarness extends ContractHarness {
  /** Opens a leaser over fresh, empty storage. */
  fresh(): Promise<Leaser>;
  /**
   * Opens an independent second view of the storage of `leaser`, as another process or client would. `leaser` may be
   * closed already.
   */
  reopen(leaser: Leaser): Promise<Leaser>;
  /**
   * Cuts the holder of `lease` off from its backend, while its process runs on, until the lease has run out. When this
   * resolves, the holder must have been told, and other views must be able to get the name. Absent: leases never run
   * out, and `expiresIn()` must be `Infinity`.
   */
  expire?(lease: Lease, leaser: Leaser): Promise<void>;
  /**
   * Stops the holder of `lease` (a suspended process, a long pause) until others can get the name. When this resolves,
   * the holder goes on, knows nothing yet, and can reach its backend. Absent: as for `expire`.
   */
  suspend?(lease: Lease, leaser: Leaser): Promise<void>;
  /**
   * Ends the process behind `leaser` as SIGKILL does: no release, no renewal, nothing. When this resolves, its leases
   * must be free for others. Absent: only for scope `process`.
   */
  crash?(leaser: Leaser): Promise<void>;
  /** Damages what is stored for `name`. Absent: only for drivers that write no local files. */
  corrupt?(leaser: Leaser, name: string): Promise<void>;
  /**
   * Makes every backend call of `leaser` fail until the returned function is called; short enough that nothing expires.
   * Absent: only for drivers whose storage is the memory of this process.
   */
  outage?(leaser: Leaser): Promise<() => void>;
  /** Moves a fake clock. Absent: time passes by itself. */
  advance?(milliseconds: number): Promise<void>;
  /** The longest name that this view accepts, in bytes; less than 512 only for layers that lengthen names. */
  readonly longestName?: number | undefined;
}

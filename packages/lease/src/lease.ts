/** A held lease. Whatever is done in its name must carry its epoch to a place that refuses lower ones. */
export interface Lease extends AsyncDisposable {
  readonly name: string;
  /** Strictly above every epoch granted before for this name; a safe integer. Not dense: epochs may be left out. */
  readonly epoch: number;
  /** Aborted once, with a `LeaseLostError` as reason, when the lease ends in any way, `release` included. */
  readonly signal: AbortSignal;
  /** `false` once `signal` is aborted. Says what this process has noticed; {@link Lease.check} asks the backend. */
  readonly held: boolean;
  /**
   * Conservative remaining milliseconds until somebody else could be granted the name if renewals stopped now; 0 when
   * lost or unconfirmed, `Infinity` where only the end of the holder ends a lease.
   */
  expiresIn(): number;
  /**
   * Asks the backend whether this lease still stands. Call it before a step that must not happen after a takeover.
   * @throws LeaseLostError when it does not; LeaserBackendError when the backend cannot tell.
   */
  check(options?: CheckOptions): Promise<void>;
  /**
   * Gives the lease back; the next holder gets it at once, with a higher epoch. Idempotent; after loss a successful
   * no-op that never frees a later holder. `signal` is aborted before anything else happens, so that work done in the
   * lease's name stops first.
   * @throws LeaserBackendError when the backend failed; calling again tries again, and renewal has stopped in any case.
   */
  release(): Promise<void>;
}

export interface CheckOptions {
  readonly signal?: AbortSignal | undefined;
}

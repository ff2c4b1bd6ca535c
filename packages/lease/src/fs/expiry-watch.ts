import type { Clock } from '@holdfast/base';

interface Sighting {
  readonly fingerprint: string;
  readonly since: number;
}

/**
 * Finds out that a holder has stopped renewing, without believing any time that somebody else wrote: the record must
 * have been seen unchanged for the whole time-to-live, on the monotonic clock of this process.
 */
export class ExpiryWatch {
  readonly #clock: Clock;
  readonly #sightings = new Map<string, Sighting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that `name` now shows `fingerprint`; `true` when it has shown nothing else for `ttl` milliseconds. */
  isStale(name: string, fingerprint: string, ttl: number): boolean {
    const now = this.#clock.monotonic();
    const sighting = this.#sightings.get(name);
    if (sighting === undefined || sighting.fingerprint !== fingerprint) {
      this.#sightings.set(name, { fingerprint, since: now });
      return false;
    }
    return now - sighting.since >= ttl;
  }

  forget(name: string): void {
    this.#sightings.delete(name);
  }
}

import { yieldToEventLoop } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';

/**
 * Harnesses of the contract suites for engines that are servers: what every one of them needs between an adapter and its
 * client, so that the author of an adapter writes only what is particular to his.
 *
 * @typedef {import('@holdfast/journal').Ledger} Ledger
 * @typedef {import('@holdfast/lease').Leaser} Leaser
 * @typedef {import('@holdfast/journal/testing').LedgerHarness} LedgerHarness
 * @typedef {import('@holdfast/lease/testing').LeaserHarness} LeaserHarness
 */

/** Between an adapter and its client: counts what is under way, cuts it off, loses answers. */
export class Wire {
  /** Nothing passes. */
  cut = false;
  underWay = 0;
  /** @type {'landed' | 'not-landed' | undefined} What becomes of the next append, of which nobody hears. */
  lose;

  /**
   * Sends one request of the client.
   * @template T
   * @param {() => Promise<T>} send
   * @param {{ append?: boolean, refused: () => Error, lost: () => Error }} request Whether it appends; the client's own
   *   errors when nobody was reached, and when no answer came.
   * @returns {Promise<T>}
   */
  async pass(send, { append = false, refused, lost }) {
    if (this.cut) throw refused();
    const lose = append ? this.lose : undefined;
    if (lose !== undefined) this.lose = undefined;
    this.underWay += 1;
    try {
      if (lose === 'not-landed') throw lost();
      const answer = await send();
      if (lose === 'landed') throw lost();
      return answer;
    } finally {
      this.underWay -= 1;
    }
  }
}

/**
 * A harness over a server that is another process: what it acknowledged does not depend on how this one ends, so a crash
 * is another opening.
 * @param {object} engine
 * @param {string} engine.adapter
 * @param {() => Promise<string> | string} engine.place Names a storage of its own.
 * @param {(place: string, wire: Wire) => Promise<Ledger>} engine.open
 * @param {(place: string, name: string, seq: number) => Promise<void> | void} engine.corrupt
 * @returns {LedgerHarness}
 */
export function serverLedgerHarness(engine) {
  /** @type {WeakMap<Ledger, { place: string, wire: Wire }>} */
  const opened = new WeakMap();
  /** @param {string} place */
  const open = async (place) => {
    const wire = new Wire();
    const ledger = await engine.open(place, wire);
    opened.set(ledger, { place, wire });
    return ledger;
  };
  /** @param {Ledger} ledger */
  const known = (ledger) => /** @type {{ place: string, wire: Wire }} */ (opened.get(ledger));
  return {
    adapter: engine.adapter,
    fresh: async () => await open(await engine.place()),
    reopen: async (ledger) => await open(known(ledger).place),
    crash: async (ledger) => await open(known(ledger).place),
    corrupt: async (ledger, name, seq) => {
      await engine.corrupt(known(ledger).place, name, seq);
    },
    loseReply: async (ledger, outcome) => {
      known(ledger).wire.lose = outcome;
    },
  };
}

/** How far the time of day of one host is from that of the host before it: an hour ahead, two behind, three ahead. */
const skewMilliseconds = 3_600_000;

/**
 * Every view is a host with a clock of its own, which the suite moves; their times of day are hours apart, because nothing
 * may depend on them. The server's clock does not move: what it would let
 * go in time is let go by hand.
 * @param {object} engine
 * @param {string} engine.adapter
 * @param {number} engine.ttlMilliseconds Long enough that no real time matters.
 * @param {() => Promise<string> | string} engine.place Names a storage of its own.
 * @param {(place: string, host: { wire: Wire, clock: ManualClock }) => Promise<Leaser> | Leaser} engine.open
 * @param {(place: string, name?: string) => Promise<void>} engine.age What the server does when the time of a name, or of all
 *   names, has run out.
 * @returns {LeaserHarness}
 */
export function serverLeaserHarness(engine) {
  const { ttlMilliseconds } = engine;
  /** @typedef {{ place: string, wire: Wire, clock: ManualClock, stopped: boolean }} Host */
  /** @type {Map<Leaser, Host>} */
  const hosts = new Map();
  /** @param {string} place */
  const open = async (place) => {
    const host = { place, wire: new Wire(), clock: new ManualClock(), stopped: false };
    const others = [...hosts.values()].filter((other) => other.place === place).length;
    host.clock.jumpWall(others * (others % 2 === 0 ? -1 : 1) * skewMilliseconds);
    const leaser = await engine.open(place, host);
    hosts.set(leaser, host);
    return leaser;
  };
  /** @param {Leaser} leaser */
  const hostOf = (leaser) => /** @type {Host} */ (hosts.get(leaser));
  const settled = async () => {
    while ([...hosts.values()].some(({ wire }) => wire.underWay > 0)) await yieldToEventLoop();
  };
  return {
    adapter: engine.adapter,
    fresh: async () => await open(await engine.place()),
    reopen: async (leaser) => await open(hostOf(leaser).place),
    expire: async (lease, leaser) => {
      const { clock, wire, place } = hostOf(leaser);
      await settled();
      wire.cut = true;
      await clock.advance(ttlMilliseconds);
      await engine.age(place, lease.name);
      wire.cut = false;
    },
    suspend: async (lease, leaser) => {
      await engine.age(hostOf(leaser).place, lease.name);
    },
    crash: async (leaser) => {
      const host = hostOf(leaser);
      await settled();
      host.stopped = true;
      host.wire.cut = true;
      await engine.age(host.place);
    },
    outage: async (leaser) => {
      const { wire } = hostOf(leaser);
      wire.cut = true;
      return () => {
        wire.cut = false;
      };
    },
    advance: async (milliseconds) => {
      // Imaginary time stands still while the real server is at work, or its answers would come too late.
      await settled();
      for (const { clock, stopped } of hosts.values()) if (!stopped) await clock.advance(milliseconds);
      await settled();
    },
  };
}

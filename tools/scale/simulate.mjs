#!/usr/bin/env node
/**
 * How one engine looks from 1, 100 and 10,000 hosts: a queue whose speed was measured, sessions that append and renew at
 * random, and an engine that is away for a while. Seeded; the same numbers come out again.
 *
 *     node tools/scale/simulate.mjs            # the table of docs/guides/scale.md
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {{ p50: number, p95: number }} Times In milliseconds.
 * @typedef {object} EngineCost
 * @property {Times} appendMs
 * @property {number} appendsPerSecond With 32 writers at once.
 * @property {Times} renewMs
 * @property {Times} acquireAndReleaseMs
 * @property {Times} read100Ms
 *
 * @typedef {object} SessionCost
 * @property {number} appendsPerTurn
 * @property {number} journalBytesPerTurn
 * @property {number} putsPerTurn
 * @property {number} blobBytesPerTurn
 *
 * @typedef {object} Fleet
 * @property {number} hosts
 * @property {number} sessionsPerHost
 * @property {number} secondsPerTurn How long a turn of an agent takes, on average.
 * @property {number} ttlSeconds
 *
 * @typedef {object} Outcome
 * @property {number} requestsPerSecond Appends and renewals, on average.
 * @property {number} load Of one engine; above 1 it cannot keep up.
 * @property {number} enginesNeeded So that none has more than half of what it can do.
 * @property {number} appendP50Ms With that many engines.
 * @property {number} appendP99Ms
 * @property {number} lostInOutage Sessions that gave their lease up, of 1,000, when an engine is away for ten seconds.
 */

/** A small generator with a seed (mulberry32). @param {number} seed @returns {() => number} From 0 to 1, without 1. */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Requests that arrive at random at an engine with several places, each busy for as long as the measured throughput says.
 * @param {{ arrivalsPerSecond: number, engine: EngineCost, requests: number, random: () => number }} options
 * @returns {number[]} Milliseconds from request to answer, sorted.
 */
export function queue({ arrivalsPerSecond, engine, requests, random }) {
  // As many places as make the latency of one and the throughput of many agree.
  const places = Math.max(1, Math.round((engine.appendsPerSecond * engine.appendMs.p50) / 1000));
  const service = places / engine.appendsPerSecond;
  const free = new Float64Array(places);
  const times = [];
  let now = 0;
  for (let at = 0; at < requests; at += 1) {
    now += -Math.log(1 - random()) / arrivalsPerSecond;
    let place = 0;
    for (let other = 1; other < places; other += 1)
      if (/** @type {number} */ (free[other]) < /** @type {number} */ (free[place])) place = other;
    // A service time that varies by half, as measured ones do.
    const busy = service * (0.5 + random());
    const begins = Math.max(now, /** @type {number} */ (free[place]));
    free[place] = begins + busy;
    times.push((begins + busy - now) * 1000);
  }
  return times.sort((a, b) => a - b);
}

/**
 * Who loses a lease while an engine is away: renewals are at thirds of the time to live, and the holder gives up after two
 * thirds without one.
 * @param {{ ttlSeconds: number, outageSeconds: number, sessions: number, random: () => number }} options
 * @returns {number} How many of the sessions.
 */
export function lostInOutage({ ttlSeconds, outageSeconds, sessions, random }) {
  let lost = 0;
  for (let at = 0; at < sessions; at += 1) {
    // The outage begins at a random moment of the third since the last renewal. Retries come every twelfth.
    const since = (random() * ttlSeconds) / 3;
    const nextTry = Math.ceil((outageSeconds + since - ttlSeconds / 3) / (ttlSeconds / 12));
    const answered = ttlSeconds / 3 + Math.max(0, nextTry) * (ttlSeconds / 12);
    if (answered >= (ttlSeconds * 2) / 3) lost += 1;
  }
  return lost;
}

/**
 * @param {Fleet} fleet
 * @param {EngineCost} engine
 * @param {SessionCost} session
 * @param {number} [seed]
 * @returns {Outcome}
 */
export function simulate(fleet, engine, session, seed = 1) {
  const random = generator(seed);
  const sessions = fleet.hosts * fleet.sessionsPerHost;
  const appends = (sessions / fleet.secondsPerTurn) * session.appendsPerTurn;
  const renewals = sessions / (fleet.ttlSeconds / 3);
  const requestsPerSecond = appends + renewals;
  const enginesNeeded = Math.max(1, Math.ceil(requestsPerSecond / (engine.appendsPerSecond / 2)));
  const arrivalsPerSecond = requestsPerSecond / enginesNeeded;
  const times = queue({ arrivalsPerSecond, engine, requests: 20_000, random });
  /** @param {number} part */
  const quantile = (part) => /** @type {number} */ (times[Math.floor(times.length * part)]);
  return {
    requestsPerSecond,
    load: requestsPerSecond / engine.appendsPerSecond,
    enginesNeeded,
    appendP50Ms: quantile(0.5),
    appendP99Ms: quantile(0.99),
    lostInOutage: lostInOutage({ ttlSeconds: fleet.ttlSeconds, outageSeconds: 10, sessions: 1000, random }),
  };
}

export const fleets = /** @type {const} */ ([1, 100, 10_000]).map((hosts) => ({
  hosts,
  sessionsPerHost: 4,
  secondsPerTurn: 30,
  ttlSeconds: 15,
}));

/** The lines of the table. @param {{ session: SessionCost, engines: Record<string, EngineCost> }} measured */
export function table(measured) {
  const rows = [
    '| engine | hosts | requests a second | load of one | engines | append p50 / p99 ms |',
    '| --- | --- | --- | --- | --- | --- |',
  ];
  for (const [name, engine] of Object.entries(measured.engines)) {
    for (const fleet of fleets) {
      const outcome = simulate(fleet, engine, measured.session);
      const load = outcome.load < 0.01 ? '< 0.01' : outcome.load.toFixed(2);
      const times = `${outcome.appendP50Ms.toFixed(1)} / ${outcome.appendP99Ms.toFixed(1)}`;
      rows.push(
        `| ${name} | ${fleet.hosts.toLocaleString('en')} | ${outcome.requestsPerSecond.toFixed(1)} | ${load} | ${outcome.enginesNeeded} | ${times} |`,
      );
    }
  }
  return rows;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const measured = JSON.parse(readFileSync(new URL('measurements.json', import.meta.url), 'utf8'));
  console.log(table(measured).join('\n'));
  for (const ttlSeconds of [15, 30, 60]) {
    const lost = lostInOutage({ ttlSeconds, outageSeconds: 10, sessions: 1000, random: generator(1) });
    console.log(
      `time to live ${ttlSeconds} s: ${lost} of 1,000 sessions lose their lease when the engine is away for 10 s`,
    );
  }
}

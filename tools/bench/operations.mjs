/** What is measured, in which order, and how the peers take turns. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';

import { compareListings, listTree } from '../oracle/oracle.mjs';
import { editTree, listFiles } from './edits.mjs';
import { diskUse, must, settle } from './timed.mjs';

/** @typedef {import('./timed.mjs').Measure} Measure */
/** @typedef {import('./peers/peer.mjs').Peer} Peer */
/** @typedef {import('./peers/peer.mjs').Session} Session */

/**
 * @typedef {object} Row
 * @property {string} tree
 * @property {string} peer
 * @property {string} operation
 * @property {Measure} [measure]
 * @property {number} [kib]
 * @property {Record<string, number>} [facts]
 */

/**
 * @typedef {object} Contestant
 * @property {Peer} peer
 * @property {Session} session
 * @property {string} work
 * @property {string} base
 */

/** @typedef {(contestant: Contestant, round: number) => Promise<Measure> | Measure | undefined} Step */

const checkpoints = 10;
/** Rounds of a peer to which everything costs as much as the first time. */
const roundsOfSlowPeers = 2;

/** The operations by the names that select them. */
export const operationNames = ['first', 'unchanged', 'ten', 'restore', 'rewind'];

/** Measures peers on one tree, in turns: in every round every peer once, so that a slow minute hits all of them. */
export class Comparison {
  #kind;
  #pristine;
  #directory;
  #record;
  #seed;
  #files;
  /** @type {Contestant[]} */
  #contestants = [];

  /**
   * @param {{ kind: import('./trees.mjs').TreeKind, pristine: string, directory: string, seed: number, record: (row: Row) => void }} options
   */
  constructor(options) {
    this.#kind = options.kind;
    this.#pristine = options.pristine;
    this.#directory = options.directory;
    this.#record = options.record;
    this.#seed = options.seed * 1000;
    this.#files = listFiles(options.pristine);
  }

  /**
   * @param {readonly Peer[]} peers
   * @param {readonly string[]} operations
   */
  async run(peers, operations) {
    rmSync(this.#directory, { recursive: true, force: true });
    try {
      for (const peer of peers) this.#contestants.push(await this.#enter(peer));
      await this.#first(operations.includes('first'));
      if (operations.includes('unchanged')) await this.#unchanged();
      if (operations.includes('ten')) await this.#ten();
      if (operations.includes('restore')) await this.#restore();
      if (operations.includes('rewind')) await this.#rewinds();
    } finally {
      for (const { session } of this.#contestants) await session.close();
      this.#contestants = [];
      rmSync(this.#directory, { recursive: true, force: true });
    }
  }

  /**
   * @param {Peer} peer
   * @returns {Promise<Contestant>}
   */
  async #enter(peer) {
    const directory = path.join(this.#directory, peer.name.replaceAll(/\W+/g, '-'));
    const base = path.join(directory, 'base');
    const work = path.join(directory, 'tree');
    mkdirSync(base, { recursive: true });
    must(['cp', '-a', this.#pristine, work], { cwd: '/' });
    return { peer, base, work, session: await peer.open({ work, base }) };
  }

  /**
   * @param {string} name
   * @param {number} rounds
   * @param {{ prepare?: (contestant: Contestant, round: number) => void, step: Step, after?: (contestant: Contestant, round: number) => Promise<void> | void }} how
   * `prepare` runs in every round, the others where the peer is measured: in the last rounds, if it is slow.
   */
  async #inTurns(name, rounds, { prepare, step, after }) {
    for (let round = 0; round < rounds; round += 1) {
      for (const contestant of this.#contestants) {
        prepare?.(contestant, round);
        if (contestant.peer.slow === true && round < rounds - roundsOfSlowPeers) continue;
        settle();
        const measure = await step(contestant, round);
        if (measure === undefined) continue;
        this.#write(contestant, name, { measure });
        await after?.(contestant, round);
      }
    }
  }

  /**
   * @param {Contestant} contestant
   * @param {string} operation
   * @param {Partial<Row>} rest
   */
  #write({ peer }, operation, rest) {
    this.#record({ tree: this.#kind.name, peer: peer.name, operation, ...rest });
  }

  /** @param {boolean} wanted Otherwise it is done once, for what follows. */
  async #first(wanted) {
    const step = (/** @type {Contestant} */ { session }) => session.first?.();
    await this.#inTurns(wanted ? 'first snapshot' : 'to begin with', wanted ? this.#kind.slowRounds : 1, {
      step,
    });
    if (!wanted) return;
    for (const contestant of this.#contestants) {
      const store = contestant.session.store?.();
      if (store !== undefined) this.#write(contestant, 'store after the first', { kib: diskUse(store) });
    }
  }

  async #unchanged() {
    const step = (/** @type {Contestant} */ { session }) => session.snapshot?.();
    // The look at a tree that was read a moment ago is not like later ones: it is not counted.
    await this.#inTurns('before unchanged', 1, { step });
    await this.#inTurns('unchanged', this.#kind.rounds, { step });
  }

  async #ten() {
    /** @type {Map<Contestant, number>} */
    const before = new Map();
    for (const contestant of this.#contestants) {
      const store = contestant.session.store?.();
      if (store !== undefined) before.set(contestant, diskUse(store));
    }
    const count = Math.min(10, this.#files.length);
    await this.#inTurns('ten files changed', checkpoints, {
      prepare: ({ work }, round) => {
        editTree(work, this.#files, this.#seed + round, { edit: count });
      },
      step: ({ session }) => (session.first === undefined ? undefined : session.snapshot?.()),
    });
    for (const [contestant, kib] of before) {
      const store = /** @type {string} */ (contestant.session.store?.());
      const rounds = contestant.peer.slow === true ? roundsOfSlowPeers : checkpoints;
      const grown = ((diskUse(store) - kib) * checkpoints) / rounds;
      this.#write(contestant, 'growth by ten checkpoints', { kib: grown });
    }
  }

  async #restore() {
    const placeOf = (/** @type {Contestant} */ { base }) => path.join(base, 'restored');
    /** @type {Set<Contestant>} */
    const judged = new Set();
    await this.#inTurns('restore to empty', this.#kind.slowRounds, {
      step: (contestant) => contestant.session.restore?.(placeOf(contestant)),
      after: (contestant) => {
        const place = placeOf(contestant);
        if (!judged.has(contestant)) judge(contestant.peer, place, contestant.work, 'restore to empty');
        judged.add(contestant);
        rmSync(place, { recursive: true, force: true });
      },
    });
  }

  async #rewinds() {
    const edits =
      this.#files.length < 30 ? { edit: 2, add: 2, remove: 2 } : { edit: 10, add: 10, remove: 10 };
    const expected = path.join(this.#directory, 'expected');
    const [first] = this.#contestants.filter(({ session }) => session.rewind !== undefined);
    if (first === undefined) return;
    must(['cp', '-a', first.work, expected], { cwd: '/' });
    let seed = this.#seed + 500;
    /** @type {Set<Contestant>} */
    const judged = new Set();
    /**
     * @param {string} name
     * @param {(session: Session) => (() => Promise<Measure> | Measure) | undefined} choose
     * @param {boolean} changes Whether it brings the tree back; otherwise that is done here.
     */
    const rewind = async (name, choose, changes) => {
      /** @type {ReturnType<typeof editTree>} */
      let made = { touched: [], added: [] };
      await this.#inTurns(name, this.#kind.rounds, {
        step: (contestant, round) => {
          const step = choose(contestant.session);
          if (step === undefined) return undefined;
          made = editTree(contestant.work, this.#files, seed + round, edits);
          settle();
          return step();
        },
        after: async (contestant) => {
          const { peer, session, work } = contestant;
          if (!changes || peer.leavesAdded === true) {
            for (const file of made.added) rmSync(path.join(work, file), { force: true });
          }
          if (!changes) {
            for (const file of made.touched)
              must(['cp', '-a', path.join(expected, file), path.join(work, file)], { cwd: '/' });
            // So that the next round finds a tree that the peer knows.
            await session.snapshot?.();
          } else if (!judged.has(contestant)) {
            judged.add(contestant);
            judge(peer, work, expected, name);
          }
        },
      });
      seed += 50;
    };
    await rewind('plan alone', (session) => session.plan, false);
    await rewind('rewind in place', (session) => session.rewind, true);
    await rewind('rewind with safety checkpoint', (session) => session.rewindSafely, true);
    await rewind('rewind, its parts', (session) => session.rewindInParts, true);
  }
}

/**
 * A peer that restores something else is not compared by its speed.
 * @param {Peer} peer
 * @param {string} got
 * @param {string} wanted
 * @param {string} operation
 */
function judge(peer, got, wanted, operation) {
  if (!existsSync(got)) throw new Error(`${peer.name}, ${operation}: ${got} is missing`);
  const [found, expected] = [got, wanted].map((root) => {
    const rows = listTree(root);
    return peer.exact === true ? rows : rows.filter(({ kind }) => kind !== 'directory');
  });
  const differences = compareListings(found ?? [], expected ?? []).filter(
    ({ what }) => peer.exact === true || what !== 'mode',
  );
  const [first] = differences;
  if (first === undefined) return;
  throw new Error(
    `${peer.name}, ${operation}: ${differences.length} differences, the first: ${first.what} ${first.path}`,
  );
}

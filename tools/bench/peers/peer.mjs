/**
 * What every peer can do. A peer works on a directory of its own: `place.work` is its copy of the tree, `place.base` holds
 * everything else. Methods that are missing are left out of the table.
 *
 * @typedef {object} Place
 * @property {string} work
 * @property {string} base Empty at first.
 *
 * @typedef {import('../timed.mjs').Measure} Measure
 *
 * @typedef {object} Peer
 * @property {string} name
 * @property {string} about For people.
 * @property {boolean} [slow] Every operation costs as much as the first: fewer rounds.
 * @property {boolean} [exact] Keeps modes and empty directories.
 * @property {boolean} [leavesAdded] A rewind leaves added files where they are.
 * @property {() => string | undefined} missing What is not installed.
 * @property {(place: Place) => Promise<Session> | Session} open
 *
 * @typedef {object} Session
 * @property {() => Promise<Measure> | Measure} [first] Begins a new store and stores everything. Called again and again.
 * @property {() => Promise<Measure> | Measure} [snapshot] Stores the tree as it is, into the store of the last `first`.
 * @property {(destination: string) => Promise<Measure> | Measure} [restore] Builds the last snapshot where nothing is yet.
 * @property {() => Promise<Measure> | Measure} [rewind] Brings the work tree back to the last snapshot.
 * @property {() => Promise<Measure> | Measure} [plan] Finds out what a rewind would do.
 * @property {() => Promise<Measure> | Measure} [rewindSafely] The same with a checkpoint of what is given up.
 * @property {() => Promise<Measure> | Measure} [rewindInParts] A rewind that tells what its time went into.
 * @property {() => string} [store] Directory of the store.
 * @property {() => Promise<void> | void} close
 */
export {};

/**
 * @typedef {import('@holdfast/durable').FileSystem} FileSystem
 */

/**
 * Where a subject works: on the crash model, or on a disk that is really taken away.
 * @typedef {object} Place
 * @property {FileSystem} fileSystem
 * @property {string} directory An existing directory, for the subject alone.
 * @property {number} seed Varies what is done; the same seed does the same.
 */

/**
 * @typedef {object} Promises
 * @property {(fact: Fact) => void} ack States that something is durable from now on.
 * @property {readonly Fact[]} acked What was promised before.
 */

/** @typedef {readonly (string | number)[]} Fact What was promised, as JSON. */

/**
 * A protocol under test, written against the interface of a file system. The four steps share nothing but the disk and
 * the facts: each may run in a process of its own.
 * @typedef {object} Subject
 * @property {string} name
 * @property {string} promises What must hold after any crash.
 * @property {boolean} [slow] A check takes long: an exploration visits fewer disks.
 * @property {(place: Place) => Promise<void>} [setup] What is on the disk before, durably.
 * @property {(place: Place, promises: Promises) => Promise<void>} run
 * @property {(place: Place, promises: Promises) => Promise<void>} [recover] What the next process does.
 * @property {(place: Place, facts: { acked: readonly Fact[], finished: boolean }) => Promise<void>} check Throws when a promise is broken.
 */

export {};

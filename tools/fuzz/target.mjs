/**
 * A decoder under fuzzing.
 * @typedef {object} Target
 * @property {string} name
 * @property {string} what What is read.
 * @property {() => Promise<readonly Uint8Array[]> | readonly Uint8Array[]} seeds Valid inputs, from which others are made.
 * @property {boolean} [json] Inputs are JSON text, which is changed as JSON as well.
 * @property {(bytes: Buffer, random: import('@holdfast/base/testing').SeededRandom) => Uint8Array} [mend] Corrects checksums and digests, so that what is behind them is reached.
 * @property {(bytes: Uint8Array) => unknown} run Reads an input; may give a promise. Throws what the decoder throws.
 * @property {readonly string[]} [allowed] Names of plain errors that the decoder documents.
 * @property {number} [share] Of the inputs of a run; default 1.
 */

export {};

import { Buffer } from 'node:buffer';

/** @typedef {import('@holdfast/base/testing').SeededRandom} SeededRandom */

/** Numbers at which readers of binary and text fields tend to be wrong. */
const numbers = [0, 1, 7, 8, 0x0a, 0x20, 0x2d, 0x2e, 0x2f, 0x30, 0x39, 0x5c, 0x7f, 0x80, 0xc0, 0xff];
const words = [
  '..',
  '/',
  '\\',
  '\0',
  '-1',
  '0x1',
  '1e400',
  '9007199254740993',
  '\u{10ffff}',
  '\ud800',
  '__proto__',
  ' ',
];
/** Values that stand where something else was expected. */
const values = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  'x',
  '..',
  '__proto__',
  '\u0000',
  [],
  {},
  [null],
  [[]],
  { a: null },
];

/**
 * Changes bytes in one to six places.
 * @param {Uint8Array} base
 * @param {Uint8Array} other Another input, of which pieces are taken.
 * @param {SeededRandom} random
 * @returns {Buffer}
 */
export function mutateBytes(base, other, random) {
  /** @type {Buffer} */
  let bytes = Buffer.from(base);
  for (let count = 1 + random.below(6); count > 0; count -= 1)
    bytes = Buffer.from(change(bytes, other, random));
  return bytes;
}

/** @param {Buffer} bytes @param {Uint8Array} other @param {SeededRandom} random @returns {Uint8Array} */
function change(bytes, other, random) {
  const at = random.below(bytes.length + 1);
  const length = 1 + random.below(random.below(4) === 0 ? 512 : 8);
  switch (random.below(9)) {
    case 0: {
      if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
    }
    case 1: {
      if (at < bytes.length) bytes[at] = random.pick(numbers);
      return bytes;
    }
    case 2:
      return bytes.subarray(0, at);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    case 4:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.alloc(length, random.pick(numbers)),
        bytes.subarray(at),
      ]);
    case 5:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at)]);
    case 6: {
      const from = random.below(other.length + 1);
      return Buffer.concat([
        bytes.subarray(0, at),
        other.subarray(from, from + length * 16),
        bytes.subarray(at),
      ]);
    }
    case 7: {
      const word = Buffer.from(random.pick(words));
      return Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(at + word.length)]);
    }
    default: {
      const field = Buffer.alloc(8);
      field.writeBigUInt64BE(
        random.pick([0n, 1n, 0xffffffffn, 0x8000000000000000n, 0xffffffffffffffffn, 2n ** 53n]),
      );
      const width = random.pick([1, 2, 4, 8]);
      return Buffer.concat([bytes.subarray(0, at), field.subarray(8 - width), bytes.subarray(at + width)]);
    }
  }
}

/**
 * Changes a JSON value in one or two places; text that is no JSON comes back as it was.
 * @param {string} text
 * @param {SeededRandom} random
 */
export function mutateJson(text, random) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  for (let count = 1 + random.below(2); count > 0; count -= 1) value = changeValue(value, random);
  return JSON.stringify(value) ?? 'null';
}

/** @param {any} value @param {SeededRandom} random @returns {any} */
function changeValue(value, random) {
  const isContainer = typeof value === 'object' && value !== null;
  if (!isContainer || random.below(6) === 0) {
    if (typeof value === 'number' && random.below(2) === 0)
      return value + random.pick([-1, 1, 0.5, 2 ** 32, -(2 ** 53)]);
    if (typeof value === 'string' && random.below(2) === 0)
      return mutateBytes(Buffer.from(value), Buffer.from(value), random).toString();
    return random.pick(values);
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return random.pick(values);
  const key = random.pick(keys);
  const copy = Array.isArray(value) ? [...value] : { ...value };
  switch (random.below(8)) {
    case 0:
      if (Array.isArray(copy)) copy.splice(Number(key), 1);
      else delete copy[key];
      return copy;
    case 1:
      if (Array.isArray(copy)) copy.push(copy[Number(key)]);
      else copy[random.pick(['extra', '__proto__x', 'toString', 'v'])] = random.pick(values);
      return copy;
    default:
      copy[key] = changeValue(value[key], random);
      return copy;
  }
}

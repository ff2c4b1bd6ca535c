/**
 * A small seeded generator (SplitMix32), so that a seed names a tree or a set of edits on every machine. Good enough for
 * test data, nothing else.
 */
export class SeededNumbers {
  #state;

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** An integer of 32 bits. */
  next() {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** In [0, 1). */
  fraction() {
    return this.next() / 2 ** 32;
  }

  /**
   * In [0, limit).
   * @param {number} limit
   */
  below(limit) {
    return Math.floor(this.fraction() * limit);
  }

  /**
   * @template T
   * @param {readonly T[]} list
   * @returns {T}
   */
  pick(list) {
    return /** @type {T} */ (list[this.below(list.length)]);
  }

  /**
   * Log-normal: half of the values are below `median`, a few are many times as large.
   * @param {number} median
   * @param {number} spread
   */
  logNormal(median, spread) {
    const radius = Math.sqrt(-2 * Math.log(1 - this.fraction()));
    return median * Math.exp(spread * radius * Math.cos(2 * Math.PI * this.fraction()));
  }

  /**
   * Bytes that no compressor makes smaller.
   * @param {number} length
   */
  bytes(length) {
    const words = new Uint32Array(Math.ceil(length / 4));
    for (let index = 0; index < words.length; index += 1) words[index] = this.next();
    return Buffer.from(words.buffer, 0, length);
  }
}

const syllables = [
  'ra',
  'ne',
  'to',
  'mi',
  'sul',
  'ver',
  'ka',
  'dor',
  'pel',
  'in',
  'ost',
  'qua',
  'bi',
  'lem',
  'fy',
  'gra',
];

/**
 * Invented words, each of two to four syllables.
 * @param {SeededNumbers} numbers
 * @param {number} count
 */
export function makeWords(numbers, count) {
  return Array.from({ length: count }, () =>
    Array.from({ length: 2 + numbers.below(3) }, () => numbers.pick(syllables)).join(''),
  );
}

/** Text that looks and compresses about like source code. Made once; files are cut out of it and get lines of their own. */
export class SourceText {
  #numbers;
  #words;
  /** @type {Buffer} */
  #stock;

  /**
   * @param {SeededNumbers} numbers
   * @param {number} stockBytes
   */
  constructor(numbers, stockBytes) {
    this.#numbers = numbers;
    this.#words = makeWords(numbers, 8000);
    const stock = Buffer.alloc(stockBytes);
    for (let at = 0; at < stockBytes; ) at += stock.write(this.#line(), at, 'latin1');
    this.#stock = stock;
  }

  #line() {
    const n = this.#numbers;
    const word = () => n.pick(this.#words);
    switch (n.below(6)) {
      case 0:
        return `import { ${word()}, ${word()} } from './${word()}.js';\n`;
      case 1:
        return `export function ${word()}(${word()}, ${word()}) {\n`;
      case 2:
        return `  const ${word()} = ${word()}.${word()}(${n.below(1000)}, '${word()} ${word()}');\n`;
      case 3:
        return `  if (${word()} !== undefined && ${word()}.length > ${n.below(100)}) return ${word()};\n`;
      case 4:
        return `  // ${Array.from({ length: 4 + n.below(9) }, word).join(' ')}\n`;
      default:
        return '}\n\n';
    }
  }

  /** @param {number} bytes */
  cut(bytes) {
    const head = Buffer.from(
      `// ${this.#numbers.next().toString(36)} ${this.#numbers.pick(this.#words)}\n`,
      'latin1',
    );
    const rest = Math.max(0, bytes - head.length);
    const at = this.#numbers.below(this.#stock.length - Math.min(rest, this.#stock.length - 1));
    return Buffer.concat([head, this.#stock.subarray(at, at + rest)]).subarray(0, bytes);
  }

  word() {
    return this.#numbers.pick(this.#words);
  }
}

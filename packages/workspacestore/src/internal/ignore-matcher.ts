import ignore, { type Ignore } from 'ignore';

/** Matches paths against an ordered list of ignore rules. */
export class IgnoreMatcher {
  readonly rules: readonly string[];
  readonly #ignore: Ignore | undefined;

  /** @throws TypeError when a rule is not one line of text. */
  constructor(rules: readonly string[]) {
    for (const rule of rules) {
      if (typeof rule !== 'string' || /[\r\n\0]/.test(rule) || !isWellFormed(rule)) {
        throw new TypeError(`ignore rule ${JSON.stringify(rule)}: expected one line of text`);
      }
    }
    this.rules = Object.freeze([...rules]);
    // Names are bytes: a rule must not match a name that differs from it by case.
    this.#ignore = rules.length === 0 ? undefined : ignore({ ignorecase: false }).add([...rules]);
  }

  get isEmpty(): boolean {
    return this.#ignore === undefined;
  }

  /**
   * Tells whether a rule leaves the entry out. Callers never ask for what lies in a directory that is left out. Bytes
   * that are not UTF-8 match as U+FFFD.
   */
  matches(path: Uint8Array, isDirectory: boolean): boolean {
    if (this.#ignore === undefined) return false;
    const text = Buffer.from(path.buffer, path.byteOffset, path.byteLength).toString('utf8');
    return this.#ignore.ignores(isDirectory ? `${text}/` : text);
  }
}

function isWellFormed(text: string): boolean {
  return !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
}

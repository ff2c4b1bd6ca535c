/** Counts what passed and failed; every command of the repository ends by printing one. */
export class Tally {
  passed = 0;
  failed = 0;

  /**
   * @param {{ passed: number, failed: number }} other
   */
  add(other) {
    this.passed += other.passed;
    this.failed += other.failed;
  }

  /** @param {boolean} ok */
  count(ok) {
    if (ok) this.passed += 1;
    else this.failed += 1;
  }

  toString() {
    return `${this.passed} passed, ${this.failed} failed`;
  }

  /** Exit code: red when something failed, and when nothing ran at all. */
  get exitCode() {
    return this.failed > 0 || this.passed === 0 ? 1 : 0;
  }
}

/**
 * Reads the last tally line of a program's output; `undefined` when it printed none.
 * @param {string} output
 * @returns {{ passed: number, failed: number } | undefined}
 */
export function parseTally(output) {
  const last = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1);
  return last === undefined ? undefined : { passed: Number(last[1]), failed: Number(last[2]) };
}

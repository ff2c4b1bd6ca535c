/**
 * Preloaded into every process of a test run (`--import`): notes which error codes are constructed, and by whom.
 *
 * The error base defines an error's code and its registered brand in one `Object.defineProperties` call. Watching that
 * call works for every copy of the package (sources under the test runner, built files in child processes) and needs
 * nothing in the packages. The notes are written at once, so that a killed process has left them.
 */
import { appendFileSync } from 'node:fs';
import path from 'node:path';

const directory = process.env['HOLDFAST_ERROR_NOTES'];
const brand = Symbol.for('@holdfast/base/error');

/**
 * Tells who constructed an error: the innermost frame that is not a constructor decides.
 * @param {string} stack
 * @returns {'package' | 'test' | 'other'}
 */
export function originOf(stack) {
  for (const line of stack.split('\n').slice(1)) {
    const frame = line.trim();
    if (!frame.startsWith('at ') || frame.startsWith('at new ') || frame.includes('check-errors/record.mjs'))
      continue;
    const place = /[\\/]packages[\\/][^\\/]+[\\/](src|dist|bin|test)[\\/]/.exec(frame);
    if (place === null) continue;
    return place[1] === 'test' ? 'test' : 'package';
  }
  return 'other';
}

if (directory !== undefined && directory !== '') {
  const file = path.join(directory, `${process.pid}.txt`);
  /** @type {Set<string>} */
  const noted = new Set();
  const original = Object.defineProperties;
  const watching = (/** @type {any} */ target, /** @type {PropertyDescriptorMap} */ properties) => {
    if (typeof properties === 'object' && properties !== null && Object.hasOwn(properties, brand)) {
      note(properties['code']?.value);
    }
    return original(target, properties);
  };
  Object.defineProperties = watching;

  /** @param {unknown} code */
  const note = (code) => {
    if (typeof code !== 'string' || noted.has(`${code} package`)) return;
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 40;
    const entry = `${code} ${originOf(new Error('where').stack ?? '')}`;
    Error.stackTraceLimit = limit;
    if (noted.has(entry)) return;
    noted.add(entry);
    try {
      appendFileSync(file, `${entry}\n`);
    } catch {
      // A test may run out of descriptors or disk on purpose; another construction of the code will be noted.
      noted.delete(entry);
    }
  };
}

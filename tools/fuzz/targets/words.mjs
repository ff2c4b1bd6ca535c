import { decodePathText, encodePathText, parseName, parseNamePrefix } from '@holdfast/base';
import { runCommand } from '@holdfast/cli';
import { parseSessionId } from '@holdfast/journal';

/** @typedef {import('../target.mjs').Target} Target */

/** @param {Uint8Array} bytes */
const textOf = (bytes) => Buffer.from(bytes).toString('utf16le');
/** @param {string} text */
const bytesOf = (text) => Buffer.from(text, 'utf16le');

/** @type {Target} */
export const names = {
  name: 'names',
  what: 'names of objects, ledgers, leases and sessions, as any string',
  seeds: () => ['a', 'a/b.c', 'sessions/0123/journal', 'x'.repeat(300), 'ä/é', 'session-0001'].map(bytesOf),
  run: (bytes) => {
    const text = textOf(bytes);
    /** @type {unknown[]} */
    const errors = [];
    for (const parse of [parseName, parseNamePrefix, parseSessionId]) {
      try {
        parse(text);
        if (/[\0\\]|\.\.\//.test(text) && parse === parseName) throw new Error('a name that leads out');
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0)
      throw errors.find((error) => !('code' in /** @type {object} */ (error))) ?? errors[0];
  },
};

/** @type {Target} */
export const pathText = {
  name: 'path-text',
  what: 'paths as text, there and back',
  seeds: () => ['a/b', 'a\\\\b', '\\xff\\x00', 'ä\u{1f600}'].map(bytesOf),
  allowed: ['TypeError'],
  run: (bytes) => {
    const shown = encodePathText(bytes);
    if (!Buffer.from(decodePathText(shown)).equals(Buffer.from(bytes)))
      throw new Error('path text that does not come back');
    decodePathText(textOf(bytes));
  },
};

/** @type {Target} */
export const commandLine = {
  name: 'command-line',
  what: 'arguments of the command',
  seeds: () =>
    [
      ['snapshot', 'a', '--home', 'x', '--json'],
      ['restore', '0123456789', 'a', '--paths', 'b', '--dry-run', '--yes'],
      ['session', 'log', 'session-0001', '--limit', '3'],
      ['gc', '--grace', '3d'],
      ['ls', `v1:sha256:${'0'.repeat(64)}`, 'd', '--help'],
      ['--version'],
    ].map((words) => Buffer.from(words.join('\n'))),
  share: 0.2,
  run: async (bytes) => {
    const words = Buffer.from(bytes).toString().split('\n');
    let shown = '';
    const output = {
      isTerminal: false,
      columns: 80,
      write: async (/** @type {string | Uint8Array} */ chunk) => {
        shown += String(chunk);
        await Promise.resolve();
      },
    };
    const status = await runCommand(words, {
      io: {
        stdout: output,
        stderr: output,
        stdin: {
          isTerminal: false,
          readLine: async () => await Promise.resolve(undefined),
          chunks: () => ({
            [Symbol.asyncIterator]: () => ({
              next: async () => await Promise.resolve({ done: true, value: undefined }),
            }),
          }),
        },
        env: {},
        cwd: '/nonexistent',
        platform: 'linux',
        userHome: '/nonexistent/home',
        signal: new AbortController().signal,
      },
      openLocal: () => {
        throw Object.assign(new Error('opened'), { code: 'FUZZ_OPENED' });
      },
      version: '0.0.0',
    });
    if (![0, 1, 2].includes(status)) throw new Error(`exit code ${status}`);
    if (/\b(TypeError|RangeError|ReferenceError)\b|at \S+ \(file:/.test(shown))
      throw new Error(`shown to a person: ${shown.slice(0, 300)}`);
    if (status !== 0 && !/[A-Z]+_[A-Z_]+/.test(shown))
      throw new Error(`a refusal without a code: ${shown.slice(0, 300)}`);
  },
};

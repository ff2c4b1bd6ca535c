import { Worker } from 'node:worker_threads';

/** A line that a pattern was found in. */
export type LineMatch = {
  /** From 1. */
  readonly line: number;
  /** Of the first occurrence in the line, in UTF-16 units from 1. */
  readonly column: number;
  /** The line, or the part of it around the occurrence. */
  readonly text: string;
};

/** What one file gave; `not-text` when it is not UTF-8 or holds NUL. */
export type FileMatches = readonly LineMatch[] | 'not-text';

/** The pattern ran out of time in the file that was being looked at. */
export class MatcherStopped extends Error {
  override readonly name: string = 'MatcherStopped';
}

/** The pattern cannot be compiled, or not be run. */
export class PatternRefused extends Error {
  override readonly name: string = 'PatternRefused';
}

/**
 * The program of the worker. Text, not a file, so that bundlers and test runners need to know nothing of it. A regular
 * expression may take exponential time in one line; in a thread of its own it can be ended at any moment.
 */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const decoder = new TextDecoder('utf-8', { fatal: true });
const shown = 400;
const pattern = new RegExp(workerData.source, workerData.flags);
function show(line, at) {
  if (line.length <= shown) return line;
  const start = Math.max(0, Math.min(at - 100, line.length - shown));
  return (start > 0 ? '…' : '') + line.slice(start, start + shown) + (start + shown < line.length ? '…' : '');
}
function search(bytes, limit) {
  if (bytes.includes(0)) return 'not-text';
  let text;
  try { text = decoder.decode(bytes); } catch { return 'not-text'; }
  const found = [];
  let start = 0;
  for (let number = 1; start < text.length && found.length < limit; number += 1) {
    const feed = text.indexOf('\\n', start);
    const end = feed === -1 ? text.length : feed;
    const line = text.slice(start, text[end - 1] === '\\r' && end > start ? end - 1 : end);
    const match = pattern.exec(line);
    if (match !== null) found.push({ line: number, column: match.index + 1, text: show(line, match.index) });
    start = end + 1;
  }
  return found;
}
parentPort.on('message', ({ bytes, limit }) => {
  try { parentPort.postMessage({ matches: search(bytes, limit) }); }
  catch (error) { parentPort.postMessage({ refused: String(error && error.message) }); }
});
`;

interface Answer {
  readonly matches?: FileMatches | undefined;
  readonly refused?: string | undefined;
}

/** Finds a pattern in one file after the other, in a thread that can be ended whatever it is doing. */
export class LineMatcher implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #stopped = new AbortController();

  constructor(pattern: RegExp) {
    this.#worker = new Worker(program, {
      eval: true,
      execArgv: [],
      env: {},
      workerData: { source: pattern.source, flags: pattern.flags },
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    this.#worker.unref();
    this.#worker.on('error', (error) => {
      this.stop(new PatternRefused(error.message, { cause: error }));
    });
    this.#worker.on('exit', () => {
      this.stop(new PatternRefused('the thread of the search ended'));
    });
  }

  /** Lines of `bytes` with the pattern, at most `limit`. One call at a time. */
  async find(bytes: Uint8Array, limit: number): Promise<FileMatches> {
    const { signal } = this.#stopped;
    return await new Promise<FileMatches>((resolve, reject) => {
      const settle = (end: () => void): void => {
        signal.removeEventListener('abort', stopped);
        this.#worker.off('message', answered);
        this.#worker.unref();
        end();
      };
      const answered = (answer: Answer): void => {
        settle(() => {
          if (answer.matches !== undefined) resolve(answer.matches);
          else reject(new PatternRefused(answer.refused ?? 'no answer'));
        });
      };
      const stopped = (): void => {
        settle(() => {
          reject(signal.reason as Error);
        });
      };
      this.#worker.on('message', answered);
      this.#worker.ref();
      signal.addEventListener('abort', stopped, { once: true });
      if (signal.aborted) stopped();
      else this.#worker.postMessage({ bytes, limit });
    });
  }

  /** Why the search is over; `undefined` while it is not. */
  get stopped(): Error | undefined {
    return this.#stopped.signal.aborted ? (this.#stopped.signal.reason as Error) : undefined;
  }

  /** A search that is running rejects with `reason` at once; the thread ends when this is disposed, whatever it does. */
  stop(reason: unknown): void {
    this.#stopped.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

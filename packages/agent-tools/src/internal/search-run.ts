import { type Dir, FileSystemError, FileTooLargeError } from '@holdfast/durable';

import { type LineMatch, type LineMatcher, MatcherStopped } from './line-matcher.js';
import type { Place } from './place.js';
import { type LeftOut, walkBelow } from './walk-place.js';
import type { Workbench } from './workbench.js';

export type SearchMatch = LineMatch & {
  /** Path text relative to the workspace. */
  readonly path: string;
};

/** Why a search did not look at everything. */
export type SearchStop = 'time' | 'matches' | 'bytes';

export type SearchOutput = {
  /** Files in order of their paths, lines in order. */
  readonly matches: readonly SearchMatch[];
  /** Files that were looked at. */
  readonly files: number;
  /** The limit that ended the search; absent when it looked at everything. */
  readonly stopped?: SearchStop | undefined;
  /** The file at which it was stopped. */
  readonly stoppedAt?: string | undefined;
  /** What was left out: files that are not text, too large or unreadable, and directories that were not entered. */
  readonly leftOut: {
    readonly notText: number;
    readonly tooLarge: number;
    readonly unreadable: number;
    readonly directories: number;
  };
};

/** One search. */
export class SearchRun {
  readonly #bench: Workbench;
  readonly #matcher: LineMatcher;
  readonly #suffix: Buffer | undefined;
  readonly #matches: SearchMatch[] = [];
  readonly #skipped = { notText: 0, tooLarge: 0, unreadable: 0 };
  readonly #leftOut: LeftOut = { directories: 0 };
  #files = 0;
  #bytes = 0;

  constructor(bench: Workbench, matcher: LineMatcher, suffix: string | undefined) {
    this.#bench = bench;
    this.#matcher = matcher;
    this.#suffix = suffix === undefined ? undefined : Buffer.from(suffix, 'utf8');
  }

  /** Looks at the file of a place, or at everything below its directory. */
  async search(place: Place, signal: AbortSignal | undefined): Promise<SearchOutput> {
    let at = place.path;
    try {
      for await (const file of this.#filesOf(place, signal)) {
        at = file.path;
        const stop = await this.#look(file);
        if (stop !== undefined) return this.#result(stop, at);
      }
      return this.#result(undefined, undefined);
    } catch (error) {
      if (error instanceof MatcherStopped) return this.#result('time', at);
      throw error;
    }
  }

  async *#filesOf(place: Place, signal: AbortSignal | undefined): AsyncGenerator<Candidate, void, void> {
    const { directory: dir, name, names, parent, path } = place;
    if (dir === undefined) {
      if (name !== undefined && place.stat?.kind === 'file') yield { dir: parent, name, path };
      else this.#skipped.unreadable += 1;
      return;
    }
    for await (const met of walkBelow(this.#bench, { dir, names }, Infinity, this.#leftOut, signal)) {
      if (this.#matcher.stopped !== undefined) throw this.#matcher.stopped;
      if (met.stat.kind === 'file' && this.#wants(met.name)) yield met;
    }
  }

  #wants(name: Uint8Array): boolean {
    const suffix = this.#suffix;
    return suffix === undefined || Buffer.from(name).subarray(-suffix.length).equals(suffix);
  }

  async #look({ dir, name, path }: Candidate): Promise<SearchStop | undefined> {
    const { limits } = this.#bench;
    const bytes = this.#read(dir, name);
    if (bytes === undefined) return undefined;
    this.#bytes += bytes.length;
    if (this.#bytes > limits.searchBytes) return 'bytes';
    const room = limits.searchMatches - this.#matches.length;
    // One more than there is room for tells whether there are more.
    const found = await this.#matcher.find(bytes, room + 1);
    if (found === 'not-text') {
      this.#skipped.notText += 1;
      return undefined;
    }
    this.#files += 1;
    this.#matches.push(...found.slice(0, room).map((match) => ({ path, ...match })));
    return found.length > room ? 'matches' : undefined;
  }

  #read(dir: Dir, name: Uint8Array): Uint8Array | undefined {
    try {
      using file = dir.openFile(name);
      if (file.stat().kind === 'file') return file.readAll({ maxBytes: this.#bench.limits.searchFileBytes });
      this.#skipped.unreadable += 1;
    } catch (error) {
      if (FileTooLargeError.is(error)) this.#skipped.tooLarge += 1;
      else if (FileSystemError.is(error)) this.#skipped.unreadable += 1;
      else throw error;
    }
    return undefined;
  }

  #result(stopped: SearchStop | undefined, stoppedAt: string | undefined): SearchOutput {
    return {
      matches: this.#matches,
      files: this.#files,
      ...(stopped === undefined ? {} : { stopped, stoppedAt }),
      leftOut: { ...this.#skipped, directories: this.#leftOut.directories },
    };
  }
}

interface Candidate {
  readonly dir: Dir;
  readonly name: Uint8Array;
  readonly path: string;
}

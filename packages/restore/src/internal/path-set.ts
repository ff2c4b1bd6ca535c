import { decodePathText, quote } from '@holdfast/base';

import { WorkspaceRestoreError } from '../errors.js';
import { parentKey, pathKey } from './path-key.js';

/** How a path relates to a set of chosen paths. */
export type Relation =
  /** Chosen, or below something chosen. */
  | 'inside'
  /** A directory on the way to something chosen. */
  | 'above'
  | 'outside';

/** A set of paths, each standing for itself and everything below it. */
export class PathSet {
  readonly #chosen: Set<string>;
  readonly #above = new Set<string>();

  constructor(keys: Iterable<string>) {
    this.#chosen = new Set(keys);
    for (const key of this.#chosen) {
      for (let up = key; up !== ''; ) {
        up = parentKey(up);
        this.#above.add(up);
      }
    }
  }

  /** The chosen paths, as keys. */
  get keys(): Iterable<string> {
    return this.#chosen;
  }

  relation(key: string): Relation {
    for (let up = key; ; up = parentKey(up)) {
      if (this.#chosen.has(up)) return 'inside';
      if (up === '') break;
    }
    return this.#above.has(key) ? 'above' : 'outside';
  }

  has(key: string): boolean {
    return this.relation(key) === 'inside';
  }
}

/**
 * Reads caller-supplied path text. `.` and the empty text are the root; one trailing slash is dropped.
 * @throws WorkspaceRestoreError `path-escape` for an absolute path, an empty component, `.` or `..` inside it, or a NUL.
 */
export function parsePaths(option: string, texts: readonly string[]): PathSet {
  return new PathSet(texts.map((text) => parsePath(option, text)));
}

function parsePath(option: string, text: string): string {
  if (typeof text !== 'string') throw new TypeError(`${option}: a path must be text, got ${typeof text}`);
  if (text === '.' || text === './') return '';
  const trimmed = text.endsWith('/') && text !== '/' ? text.slice(0, -1) : text;
  const key = pathKey(decodePathText(trimmed));
  const broken = key
    .split('/')
    .some((name) => name === '' || name === '.' || name === '..' || name.includes('\0'));
  if (broken) {
    throw new WorkspaceRestoreError(
      'path-escape',
      `${option} has ${quote(text)}: paths are relative to the root, without "." and ".."`,
      { paths: [text] },
    );
  }
  return key;
}

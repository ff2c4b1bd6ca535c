import { sha256, toHex } from '@holdfast/base';

/**
 * Where an object lies under `objects/`. Every segment of a key takes two levels or more:
 *
 *     <bucket>/@<text>                 the object whose key ends with this segment
 *     <bucket>/+<text>/                the directory of the keys that go on after this segment
 *     <bucket>/~<text>/…               a segment above 200 characters goes on in here, as `@`, `+` or `~`
 *
 * The bucket is the first byte of the segment's SHA-256 in hex, so that no directory holds more than 256 buckets or
 * 1/256 of the segments, whatever keys look like. The marks keep `a`, `a/b`, `a.ext` and `a.ext/b` apart and stand in
 * front, so that no name is a device name on any system. A dot is written as a comma: no name ends with a dot or has an
 * extension. Keys are lower case, hence file systems that fold case or normalize change nothing.
 */
export interface ObjectPlace {
  /** Directories from `objects/` down to the one that holds the file. */
  readonly directories: readonly string[];
  readonly file: string;
}

/** What an entry of a bucket, or of the continuation of a long segment, stands for. */
export interface PlacedEntry {
  readonly kind: 'object' | 'directory' | 'continuation';
  readonly text: string;
}

const pieceCharacters = 200;

/** Returns the place of the object with this (legal) key. */
export function placeObject(key: string): ObjectPlace {
  const segments = key.split('/');
  const last = segments.pop() as string;
  const directories = segments.flatMap((segment) => placeSegment(segment, '+'));
  const leaf = placeSegment(last, '@');
  const file = leaf.pop() as string;
  return { directories: [...directories, ...leaf], file };
}

/** Returns the directories that lead to the keys which go on after `segment/`. */
export function placeDirectory(segment: string): string[] {
  return placeSegment(segment, '+');
}

/** Returns the directories and the file of an object whose last segment this is, relative to its parent's. */
export function placeLeaf(segment: string): string[] {
  return placeSegment(segment, '@');
}

function placeSegment(segment: string, mark: '@' | '+'): string[] {
  const path = [bucketOf(segment)];
  let rest = segment;
  for (; rest.length > pieceCharacters; rest = rest.slice(pieceCharacters)) {
    path.push(`~${escapeDots(rest.slice(0, pieceCharacters))}`);
  }
  path.push(`${mark}${escapeDots(rest)}`);
  return path;
}

const encoder = new TextEncoder();

function bucketOf(segment: string): string {
  return toHex(sha256(encoder.encode(segment)).subarray(0, 1));
}

function escapeDots(text: string): string {
  return text.replaceAll('.', ',');
}

/** Tells whether a directory entry is one of the 256 buckets. */
export function isBucket(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name);
}

const kinds: Readonly<Record<string, PlacedEntry['kind']>> = {
  '@': 'object',
  '+': 'directory',
  '~': 'continuation',
};

/** Reads an entry of a bucket; `undefined` for names that this layout does not use. The text may still be illegal. */
export function readEntry(name: string): PlacedEntry | undefined {
  const kind = kinds[name.charAt(0)];
  if (kind === undefined || name.length === 1) return undefined;
  const text = name.slice(1);
  return { kind, text: text.includes(',') ? text.replaceAll(',', '.') : text };
}

/** Tells whether a segment, or a piece of one, has only characters that keys have. */
export function isLegalText(text: string): boolean {
  return /^[a-z0-9_.-]+$/.test(text);
}

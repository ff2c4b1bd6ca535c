import type { Blobs } from '@holdfast/blobs';

import { AmbiguousRefError, RefNotFoundError } from '../errors.js';
import { InvalidRefError, type Ref, refOfRootKey, tryParseRef } from '../ref.js';

/** Finds the one ref that a text, whole or a prefix of its digits, stands for. */
export async function resolveRef(
  blobs: Blobs,
  text: string,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<Ref> {
  const whole = tryParseRef(text);
  const digits = typeof text === 'string' ? text.replace(/^v1:sha256:/, '') : '';
  if (whole === undefined && !/^[0-9a-f]{8,64}$/.test(digits)) throw new InvalidRefError(text, 'digits');
  const matches = new Set<string>();
  for await (const { key } of blobs.list(`snapshots/${digits}`, options)) {
    const found = /^snapshots\/([0-9a-f]{64})\//.exec(key)?.[1];
    if (found !== undefined) matches.add(refOfRootKey(found));
    if (matches.size > 4) break;
  }
  const [first, ...rest] = matches;
  if (first === undefined) throw new RefNotFoundError(text);
  if (rest.length > 0) throw new AmbiguousRefError(text, [...matches]);
  return first as Ref;
}

import { textOf } from '@holdfast/base';

/** What a tree may hold. The same numbers apply when it is captured, imported and materialized. */
export interface Limits {
  /** Captured entries; default 1,048,576. */
  readonly entries: number;
  /** Sum of the bytes of all files; default 8 GiB. Sparse files count with their apparent size. */
  readonly bytes: number;
  /** Path components below the root; default 256. */
  readonly depth: number;
  /** Bytes of one name; default 255. */
  readonly nameBytes: number;
  /** Bytes of one path relative to the root; default 4,095. */
  readonly pathBytes: number;
  /** Bytes of one file; larger ones are omitted, not refused. Off (infinite) by default. */
  readonly fileBytes: number;
}

/** The name of a limit. */
export type LimitName = keyof Limits;

/** The limits that apply when nothing else is asked for. */
export const defaultLimits: Limits = Object.freeze({
  entries: 2 ** 20,
  bytes: 8 * 2 ** 30,
  depth: 256,
  nameBytes: 255,
  pathBytes: 4095,
  fileBytes: Number.POSITIVE_INFINITY,
});

/**
 * Completes `limits` from `base`.
 * @throws RangeError when a limit is not a number of at least 0.
 */
export function completeLimits(limits: Partial<Limits> | undefined, base: Limits): Limits {
  const complete = { ...base };
  for (const name of Object.keys(base) as LimitName[]) {
    const value = limits?.[name];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !(value >= 0)) {
      throw new RangeError(`limit ${name}: expected a number of at least 0, found ${textOf(value)}`);
    }
    complete[name] = value;
  }
  return Object.freeze(complete);
}

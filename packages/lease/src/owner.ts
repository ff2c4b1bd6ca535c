import { type JsonValue, quote } from '@holdfast/base';

import type { LeaseOwner } from './driver.js';

/** The largest owner description, in bytes of its JSON form. */
export const maxOwnerBytes = 4096;

const maxOwnerDepth = 8;

/**
 * Copies and freezes the description of an owner, so that later changes by the caller change nothing.
 * @throws TypeError when it is not a plain JSON object; RangeError when it is larger than {@link maxOwnerBytes}.
 */
export function copyOwner(owner: unknown): LeaseOwner {
  if (owner === undefined) return Object.freeze({});
  if (!isPlainObject(owner)) throw new TypeError('acquire: owner must be a plain object of JSON values');
  const copy = copyValue(owner, 'owner', 0) as LeaseOwner;
  const size = new TextEncoder().encode(JSON.stringify(copy)).length;
  if (size > maxOwnerBytes) {
    throw new RangeError(`acquire: owner takes ${size} bytes as JSON, at most ${maxOwnerBytes} are kept`);
  }
  return copy;
}

/**
 * An owner in words, for messages: `process 4711 (session "k3v9", "nightly build")`. What it says beside process, session
 * and title is for diagnosis and stays in the error's fields.
 */
export function ownerText(owner: LeaseOwner | undefined): string {
  const { pid, session, title } = owner ?? {};
  const about = [
    ...(typeof session === 'string' ? [`session ${quote(session)}`] : []),
    ...(typeof title === 'string' ? [quote(title)] : []),
  ];
  const known = typeof pid === 'number' || typeof pid === 'string';
  const who = known ? `process ${String(pid)}` : 'another process';
  return about.length === 0 ? who : `${who} (${about.join(', ')})`;
}

function copyValue(value: unknown, place: string, depth: number): JsonValue {
  if (depth > maxOwnerDepth)
    throw new RangeError(`acquire: ${place} is nested deeper than ${maxOwnerDepth} levels`);
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value)) {
    return Object.freeze(value.map((item, index) => copyValue(item, `${place}[${index}]`, depth + 1)));
  }
  if (isPlainObject(value)) {
    const entries = Object.entries(value).filter(([, member]) => member !== undefined);
    const copied = entries.map(
      ([key, member]) => [key, copyValue(member, `${place}.${key}`, depth + 1)] as const,
    );
    return Object.freeze(Object.fromEntries(copied));
  }
  throw new TypeError(`acquire: ${place} is not a JSON value`);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

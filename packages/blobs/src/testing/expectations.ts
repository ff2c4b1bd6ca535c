import assert from 'node:assert/strict';

import { type ErrorClass, equalBytes, InvalidNameError } from '@holdfast/base';

import type { Blobs } from '../blobs.js';
import { BlobNotFoundError } from '../errors.js';
import { collect } from './content.js';

/** Waits for a rejection with an error of `Class` and returns it. `rule` says what the adapter must do. */
export async function refuses<T>(
  promise: Promise<unknown>,
  Class: ErrorClass<T> & { name: string },
  rule: string,
): Promise<T> {
  const error = await rejection(promise, rule);
  assert.ok(Class.is(error), `${rule}; expected ${Class.name}, got ${show(error)}`);
  return error as T;
}

/** Waits for a rejection with exactly the reason of a signal. */
export async function rejectsWithReason(
  promise: Promise<unknown>,
  reason: unknown,
  rule: string,
): Promise<void> {
  const error = await rejection(promise, rule);
  assert.ok(
    error === reason,
    `${rule}; expected the signal's own reason (the same object), got ${show(error)}`,
  );
}

async function rejection(promise: Promise<unknown>, rule: string): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  return assert.fail(`${rule}; it resolved with ${show(value)}`);
}

function show(value: unknown): string {
  if (value instanceof Error) {
    const { code } = value as { code?: unknown };
    return `${value.name}${typeof code === 'string' ? ` ${code}` : ''}: ${value.message}`;
  }
  return value === null || typeof value !== 'object'
    ? String(value)
    : `an object of ${value.constructor?.name ?? 'no class'}`;
}

/** Asserts that an object is there in every way of looking, with exactly these bytes. */
export async function holds(store: Blobs, key: string, bytes: Uint8Array, rule: string): Promise<void> {
  const info = await store.stat(key);
  assert.ok(info !== undefined, `${rule}; stat of ${JSON.stringify(key)} finds nothing`);
  assert.equal(info.size, bytes.length, `${rule}; stat of ${JSON.stringify(key)} reports another size`);
  same(await store.getBytes(key), bytes, `${rule}; get of ${JSON.stringify(key)}`);
  const entries = await collect(store.list(key));
  assert.equal(
    entries[0]?.key,
    key,
    `${rule}; list does not show ${JSON.stringify(key)} first among what starts with it`,
  );
  assert.equal(
    entries[0]?.size,
    bytes.length,
    `${rule}; list reports another size for ${JSON.stringify(key)}`,
  );
}

/** Asserts that there is no object, in every way of looking. */
export async function lacks(store: Blobs, key: string, rule: string): Promise<void> {
  assert.equal(await store.stat(key), undefined, `${rule}; stat of ${JSON.stringify(key)} finds an object`);
  await refuses(
    store.get(key),
    BlobNotFoundError,
    `${rule}; get of ${JSON.stringify(key)} must find nothing`,
  );
  const keys = (await collect(store.list(key))).map((entry) => entry.key);
  assert.ok(!keys.includes(key), `${rule}; list shows ${JSON.stringify(key)}`);
}

/** Asserts equal bytes without printing megabytes. */
export function same(actual: Uint8Array, expected: Uint8Array, rule: string): void {
  if (equalBytes(actual, expected)) return;
  const length = Math.min(actual.length, expected.length);
  let at = 0;
  while (at < length && actual[at] === expected[at]) at += 1;
  assert.fail(
    `${rule} returned other bytes: ${actual.length} of ${expected.length} bytes, first difference at offset ${at}`,
  );
}

/** Asserts that a call refuses an illegal name with the rule that it breaks. */
export async function refusesName(
  promise: Promise<unknown>,
  brokenRule: string,
  rule: string,
): Promise<void> {
  const error = await refuses(promise, InvalidNameError, rule);
  assert.equal(error.rule, brokenRule, `${rule}; it names another broken rule`);
}

import assert from 'node:assert/strict';

import { type ErrorClass, equalBytes } from '@holdfast/base';
import type { SeededRandom } from '@holdfast/base/testing';

import type { LedgerRecord } from '../driver.js';
import type { Ledger } from '../ledger.js';

/** Waits for a rejection with an error of `Class` and returns it. `rule` says what the adapter must do. */
export async function refuses<T>(
  promise: Promise<unknown>,
  Class: ErrorClass<T> & { readonly name: string },
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
  assert.ok(error === reason, `${rule}; expected the signal's own reason, got ${show(error)}`);
}

/** Waits for a rejection with an argument mistake. */
export async function refusesArgument(promise: Promise<unknown>, rule: string): Promise<void> {
  const error = await rejection(promise, rule);
  const fits = error instanceof TypeError || error instanceof RangeError;
  assert.ok(fits, `${rule}; expected a TypeError or RangeError, got ${show(error)}`);
}

export async function rejection(promise: Promise<unknown>, rule: string): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  return assert.fail(`${rule}; it resolved with ${show(value)}`);
}

export function show(value: unknown): string {
  if (value instanceof Error) {
    const { code } = value as { code?: unknown };
    return `${value.name}${typeof code === 'string' ? ` ${code}` : ''}: ${value.message}`;
  }
  return value === null || typeof value !== 'object' ? String(value) : JSON.stringify(value).slice(0, 200);
}

/** A promise that is awaited later: its failure in between is not taken for one that nobody awaits. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Fresh bytes of a length; long ones repeat a block, since drawing megabytes takes longer than storing them. */
export function freshRecord(random: SeededRandom, length: number = 24): Uint8Array {
  if (length <= blockLength) return random.bytes(length);
  const block = random.bytes(blockLength);
  const record = new Uint8Array(length);
  for (let at = 0; at < length; at += blockLength) record.set(block.subarray(0, length - at), at);
  return record;
}

// Prime, so that a driver that mixes up pieces of a round size is noticed.
const blockLength = 4_093;

/** Several fresh records. */
export function freshRecords(random: SeededRandom, count: number): Uint8Array[] {
  return Array.from({ length: count }, () => freshRecord(random, 1 + random.below(40)));
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Asserts that a ledger holds exactly these records, in every way of looking. */
export async function holds(
  ledger: Ledger,
  name: string,
  records: readonly Uint8Array[],
  rule: string,
): Promise<void> {
  assert.equal(await ledger.tip(name), records.length, `${rule}; tip of ${JSON.stringify(name)}`);
  sameRecords(await collect(ledger.read(name)), records, 1, `${rule}; read of ${JSON.stringify(name)}`);
  const names = await collect(ledger.list(name));
  assert.equal(
    names.includes(name),
    records.length > 0,
    `${rule}; list must ${records.length > 0 ? 'show' : 'not show'} ${JSON.stringify(name)}`,
  );
}

/** Asserts records in order, the first at sequence `from`. */
export function sameRecords(
  actual: readonly LedgerRecord[],
  expected: readonly Uint8Array[],
  from: number,
  rule: string,
): void {
  assert.deepEqual(
    actual.map((record) => record.seq),
    expected.map((_, index) => from + index),
    `${rule}; sequences`,
  );
  for (const [index, record] of actual.entries()) {
    same(record.data, expected[index] as Uint8Array, `${rule}; record ${String(record.seq)}`);
  }
}

/** Asserts equal bytes without printing megabytes. */
export function same(actual: Uint8Array, expected: Uint8Array, rule: string): void {
  if (equalBytes(actual, expected)) return;
  const length = Math.min(actual.length, expected.length);
  let at = 0;
  while (at < length && actual[at] === expected[at]) at += 1;
  assert.fail(
    `${rule} has other bytes: ${actual.length} of ${expected.length}, first difference at offset ${at}`,
  );
}

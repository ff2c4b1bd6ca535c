import { equalBytes } from '@holdfast/base';
import { expect } from 'vitest';

/** Compares without the runner's element-wise difference, which takes seconds for large arrays. */
export function expectBytes(actual: Uint8Array, expected: Uint8Array): void {
  expect(actual.length).toBe(expected.length);
  expect(equalBytes(actual, expected)).toBe(true);
}

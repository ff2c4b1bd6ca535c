/** Which 32-bit half of a 64-bit number in memory is the upper one. */
export const upperHalf: 0 | 1 = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;

/** A 64-bit column as pairs of 32-bit numbers: reading those makes no objects. */
export function halvesOf(column: BigInt64Array | BigUint64Array): Int32Array {
  return new Int32Array(column.buffer, column.byteOffset, column.length * 2);
}

/**
 * Expands a raw Snappy block of at most `limit` bytes; `undefined` when it is not one. Tables of the engine compress
 * their indexes with it.
 */
export function expandSnappy(input: Uint8Array, limit: number): Uint8Array | undefined {
  let at = 0;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = input[at];
    if (byte === undefined || shift > 28) return undefined;
    at += 1;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  if (length > limit) return undefined;
  const output = new Uint8Array(length);
  let written = 0;
  while (at < input.length) {
    const tag = input[at] as number;
    at += 1;
    let count: number;
    if ((tag & 3) === 0) {
      count = tag >> 2;
      if (count >= 60) {
        const extra = count - 59;
        count = littleEndian(input, at, extra);
        at += extra;
      }
      count += 1;
      if (at + count > input.length || written + count > length) return undefined;
      output.set(input.subarray(at, at + count), written);
      at += count;
      written += count;
      continue;
    }
    let offset: number;
    if ((tag & 3) === 1) {
      count = ((tag >> 2) & 7) + 4;
      offset = ((tag >> 5) << 8) | (input[at] ?? 0);
      at += 1;
    } else {
      const width = (tag & 3) === 2 ? 2 : 4;
      count = (tag >> 2) + 1;
      offset = littleEndian(input, at, width);
      at += width;
    }
    if (offset === 0 || offset > written || at > input.length || written + count > length) return undefined;
    // Byte by byte on purpose: source and destination may overlap.
    for (const end = written + count; written < end; written += 1) {
      output[written] = output[written - offset] as number;
    }
  }
  return written === length ? output : undefined;
}

function littleEndian(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let index = width - 1; index >= 0; index -= 1) value = value * 256 + (bytes[at + index] ?? 0);
  return value;
}

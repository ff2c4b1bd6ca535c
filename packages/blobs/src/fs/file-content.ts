import { equalBytes, Pacer, throwIfAborted } from '@holdfast/base';
import type { File } from '@holdfast/durable';

import type { ByteRange, ReopenableSource } from '../driver.js';

const bufferBytes = 256 * 1024;

/** Yields a range of a file through one buffer that is used again; ends early when the file does. */
export async function* readChunks(
  file: File,
  range: ByteRange,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const buffer = new Uint8Array(Math.min(bufferBytes, range.end - range.start));
  const pacer = new Pacer();
  for (let position = range.start; position < range.end; ) {
    throwIfAborted(signal);
    const count = file.read(buffer.subarray(0, Math.min(buffer.length, range.end - position)), position);
    if (count === 0) return;
    yield buffer.subarray(0, count);
    position += count;
    if (pacer.due) await pacer.rest(signal);
  }
}

/** Tells whether a file holds exactly what a source yields. Stops reading the source at the first difference. */
export async function sameContent(
  file: File,
  source: ReopenableSource,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (file.stat().size !== source.size) return false;
  const buffer = new Uint8Array(Math.min(bufferBytes, source.size));
  const pacer = new Pacer();
  let position = 0;
  for await (const chunk of source.open()) {
    for (let start = 0; start < chunk.length; ) {
      const wanted = chunk.subarray(start, start + buffer.length);
      const count = file.read(buffer.subarray(0, wanted.length), position);
      if (count === 0 || !equalBytes(buffer.subarray(0, count), wanted.subarray(0, count))) return false;
      start += count;
      position += count;
      if (pacer.due) await pacer.rest(signal);
    }
  }
  return position === source.size;
}

import { equalBytes } from '@holdfast/base';

import { FormatFault } from './byte-reader.js';
import type { ChunkList, ChunkRef } from './chunk-list.js';
import type { EnginePool } from './engine/engine-pool.js';
import { packObjects } from './engine/frame-objects.js';
import { startKey } from './object-key.js';
import { missing, type ObjectReader, type Wanted } from './object-reader.js';
import type { ObjectTable } from './object-table.js';

/** Chunks that are read and expanded before their turn; each has about a MiB. */
const chunksAhead = 6;

/**
 * Streams a file in chunks like `ObjectReader.read`, expanding and proving chunks in other threads before they are
 * needed. The last chunk is held back until the whole has been proved.
 */
export async function* readChunksAhead(
  reader: ObjectReader,
  engine: EnginePool,
  table: ObjectTable,
  key: Uint8Array,
  list: ChunkList,
  wanted: Wanted,
): AsyncGenerator<Uint8Array> {
  const hash = startKey(list.kind);
  const ahead: Promise<Uint8Array>[] = [];
  const { chunks } = list;
  try {
    for (let position = 0; position < chunks.length; position += 1) {
      while (ahead.length < Math.min(chunks.length, position + chunksAhead)) {
        const reading = readChunk(reader, engine, table, chunks[ahead.length] as ChunkRef, wanted);
        // A failure is met when its turn comes.
        reading.catch(() => undefined);
        ahead.push(reading);
      }
      const bytes = await (ahead[position] as Promise<Uint8Array>);
      ahead[position] = Promise.resolve(new Uint8Array(0));
      hash.update(bytes);
      if (position === chunks.length - 1 && !equalBytes(hash.digest(), key)) {
        throw missing(key, wanted, 'other bytes');
      }
      yield bytes;
    }
  } finally {
    await Promise.allSettled(ahead);
  }
}

/** From the first place if that serves; else by the reader, which tries every place and says what is wrong. */
async function readChunk(
  reader: ObjectReader,
  engine: EnginePool,
  table: ObjectTable,
  chunk: ChunkRef,
  wanted: Wanted,
): Promise<Uint8Array> {
  const [place] = table.locate('chunk', chunk.key);
  if (place !== undefined) {
    const { archive, row } = place;
    const { offset, storedLength, codec, rawLength } = archive.tail.index.frame(row.frame);
    try {
      const bytes = await reader.readRange(archive, offset, offset + storedLength, wanted.signal);
      const objects = packObjects([
        { kind: 'chunk', key: chunk.key, offset: row.offset, length: row.length },
      ]);
      const frame = { start: 0, storedLength, codec, rawLength, objects };
      const [expanded] = (await engine.expand(bytes, [frame])) ?? [];
      if (expanded?.raw !== undefined && expanded.proved[0] === 1 && row.length === chunk.length) {
        return expanded.raw.subarray(row.offset, row.offset + row.length);
      }
    } catch (error) {
      if (!(error instanceof FormatFault)) throw error;
    }
  }
  return await reader.readChunk(table, chunk, wanted);
}

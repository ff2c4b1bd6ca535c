import { createHash } from 'node:crypto';

import type { ReopenableSource } from '../../driver.js';
import { BlobSourceError } from '../../errors.js';
import { ByteQueue } from './byte-queue.js';
import {
  encodeHeader,
  sealedSize,
  sealSegment,
  segmentBytes,
  segmentContext,
  segmentCount,
} from './format.js';
import type { EncryptionKey } from './key-ring.js';

const digestBytes = 32;

/** The SHA-256 of every segment of a content, one after the other: 32 bytes for 64 KiB. */
export async function digestSegments(source: ReopenableSource): Promise<Buffer> {
  const digests: Buffer[] = [];
  const queue = new ByteQueue(source.open());
  try {
    for (let index = 0; index < segmentCount(source.size); index += 1) {
      digests.push(
        createHash('sha256')
          .update(await queue.take(segmentBytes))
          .digest(),
      );
    }
    // The source says by its own end, or failure, that it kept to its size.
    await queue.take(1);
  } finally {
    await queue.end();
  }
  return Buffer.concat(digests);
}

/** The same under one key for the same name and content, and never for others. */
export function identityOf(
  encryption: EncryptionKey,
  key: string,
  size: number,
  digests: Uint8Array,
): Buffer {
  const name = Buffer.from(key, 'latin1');
  const lengths = Buffer.alloc(10);
  lengths.writeUInt16BE(name.length, 0);
  lengths.writeBigUInt64BE(BigInt(size), 2);
  return encryption.identify([lengths, name, digests]);
}

export interface SealedSource extends ReopenableSource {
  /** What went wrong in the source below, whatever the store made of it. */
  readonly failure: { readonly error: unknown } | undefined;
}

/**
 * A source as it is stored. Each reading makes the same bytes: a segment is sealed only if it has the digest that went into
 * the identity, because two contents under one object key would give both away.
 */
export function sealSource(
  encryption: EncryptionKey,
  key: string,
  source: ReopenableSource,
  digests: Buffer,
): SealedSource {
  const { size } = source;
  const identity = identityOf(encryption, key, size, digests);
  const header = encodeHeader({ size, identity, check: encryption.check, keyId: encryption.id });
  const seal = { objectKey: encryption.objectKey(identity), context: segmentContext(header, key) };
  let failure: { readonly error: unknown } | undefined;
  async function* sealed(): AsyncGenerator<Uint8Array, void, undefined> {
    failure = undefined;
    const queue = new ByteQueue(source.open());
    try {
      yield Buffer.from(header);
      for (let index = 0; index < segmentCount(size); index += 1) {
        const segment = await queue.take(segmentBytes);
        const digest = createHash('sha256').update(segment).digest();
        if (!digest.equals(digests.subarray(index * digestBytes, (index + 1) * digestBytes))) {
          const cause = new TypeError('the source yielded other bytes when it was read again');
          throw new BlobSourceError(key, 'failed', size, index * segmentBytes + segment.length, { cause });
        }
        // The last segment waits for the end of the source: without it there is no object.
        if (index === segmentCount(size) - 1) await queue.take(1);
        yield sealSegment(seal, index, segment);
      }
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      await queue.end();
    }
  }
  return {
    size: sealedSize(size),
    open: sealed,
    get failure() {
      return failure;
    },
  };
}

import { Readable } from 'node:stream';

import { concatBytes, createSha256, throwIfAborted, toHex } from '@holdfast/base';
import { BlobSourceError, type ReopenableSource } from '@holdfast/blobs';

/** Objects up to this size are read once and kept; larger ones are read twice. */
export const keptBytes: number = 1024 * 1024;

/** What is going to be sent, with the digest that goes ahead of it. */
export interface Upload {
  readonly size: number;
  /** Hex SHA-256 of the content. */
  readonly sha256: string;
  /** Opens the body for one attempt. */
  body(hooks: UploadHooks): UploadBody;
}

export interface UploadHooks {
  readonly signal: AbortSignal | undefined;
  /** Called for every chunk that is handed over. */
  moved(): void;
  /** Called when the body will never be complete. */
  failed(): void;
}

export interface UploadBody {
  readonly content: Uint8Array | Readable;
  /** Whether everything was handed over: from there on the service may have the whole object. */
  readonly complete: () => boolean;
  /** What went wrong on this side; the request then fails with something else. */
  readonly failure: () => { readonly error: unknown } | undefined;
  /** Whether the client has read it to its end. */
  readonly drained: () => boolean;
  /** Frees the source. Idempotent. */
  close(): void;
}

/** Reads a source for its digest. It is sent before the body, so that the service can refuse damaged bytes. */
export async function readUpload(
  key: string,
  source: ReopenableSource,
  signal: AbortSignal | undefined,
): Promise<Upload> {
  const hash = createSha256();
  const kept: Uint8Array[] = [];
  for await (const chunk of source.open()) {
    hash.update(chunk);
    if (source.size <= keptBytes) kept.push(chunk);
  }
  throwIfAborted(signal);
  const sha256 = toHex(hash.digest());
  const { size } = source;
  if (size <= keptBytes) {
    const content = concatBytes(kept);
    return {
      size,
      sha256,
      body: () => ({
        content,
        complete: () => true,
        failure: () => undefined,
        drained: () => true,
        close: () => undefined,
      }),
    };
  }
  return { size, sha256, body: (hooks) => streamedBody(key, source, sha256, hooks) };
}

function streamedBody(key: string, source: ReopenableSource, sha256: string, hooks: UploadHooks): UploadBody {
  let complete = false;
  let failure: { readonly error: unknown } | undefined;
  const content = Readable.from(checkedChunks(), { objectMode: false });
  async function* checkedChunks(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      const hash = createSha256();
      // The last chunk stays here until the whole is known to be right: without it there is no object.
      let held: Uint8Array | undefined;
      for await (const chunk of source.open()) {
        if (held !== undefined) yield held;
        hooks.moved();
        hash.update(chunk);
        held = chunk;
      }
      if (toHex(hash.digest()) !== sha256) {
        const cause = new TypeError('the source yielded other bytes when it was read again');
        throw new BlobSourceError(key, 'failed', source.size, source.size, { cause });
      }
      throwIfAborted(hooks.signal);
      complete = true;
      if (held !== undefined) yield held;
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  content.on('error', () => {
    hooks.failed();
  });
  return {
    content,
    complete: () => complete,
    failure: () => failure,
    drained: () => content.readableEnded,
    close: () => {
      content.destroy();
    },
  };
}

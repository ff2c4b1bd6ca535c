import { Pacer, throwIfAborted, uniformAbort } from '@holdfast/base';

import type { Dir } from './dir.js';
import type { EntryName } from './entry-name.js';
import { type Published, type PublishOptions, StagedFile } from './staged-file.js';
import type { OperationOptions } from './temporary-name.js';

/** Bytes, chunks, or something of known length that yields chunks. */
export type ContentSource =
  | Uint8Array
  | Iterable<Uint8Array>
  | AsyncIterable<Uint8Array>
  | { readonly size: number; open(): AsyncIterable<Uint8Array> };

export interface PublishFileOptions extends PublishOptions, OperationOptions {
  /** Announced length in bytes: anything else fails and nothing is published. */
  readonly size?: number | undefined;
  /** Announced SHA-256 in lower-case hex, likewise. */
  readonly sha256?: string | undefined;
}

const pieceBytes = 1024 * 1024;

/**
 * Writes a file under a temporary name, checks it, makes it durable and only then gives it its name. Unless
 * `exclusive: false`, an existing name is left alone and reported as `created: false`. When this resolves, the name and
 * the bytes behind it survive power loss; when it rejects with anything but `OutcomeUncertainError`, nothing is visible.
 *
 * @throws ContentMismatchError when the source is not what was announced.
 * @throws LinksUnsupportedError when exclusive and the file system has no hard links.
 * @throws OutcomeUncertainError when a failure came after the name may have been given.
 * @throws SyncFailedError when the bytes could not be made durable; nothing is visible.
 */
export async function publishFile(
  dir: Dir,
  name: EntryName,
  source: ContentSource,
  options: PublishFileOptions = {},
): Promise<Published> {
  throwIfAborted(options.signal);
  using staged = StagedFile.create(dir, { ...options, hashed: options.sha256 !== undefined });
  await uniformAbort(options.signal, () => fill(staged, source, options.signal));
  staged.expect({ size: announcedSize(source) ?? options.size, sha256: options.sha256 });
  return await staged.publish(name, options);
}

/** {@link publishFile} of bytes without giving up the thread. */
export function publishFileSync(
  dir: Dir,
  name: EntryName,
  bytes: Uint8Array,
  options: PublishFileOptions = {},
): Published {
  throwIfAborted(options.signal);
  using staged = StagedFile.create(dir, { ...options, hashed: options.sha256 !== undefined });
  staged.append(bytes);
  staged.expect({ size: options.size, sha256: options.sha256 });
  return staged.publishSync(name, options);
}

/**
 * Replaces what a name holds, or creates it: a crash leaves the old file or the new one, whole. The old inode is not
 * written to, so other names of it and open handles keep the old bytes.
 *
 * @throws OutcomeUncertainError when a failure came after the name may have changed hands.
 */
export async function replaceFile(
  dir: Dir,
  name: EntryName,
  source: ContentSource,
  options: Omit<PublishFileOptions, 'exclusive'> = {},
): Promise<void> {
  await publishFile(dir, name, source, { ...options, exclusive: false });
}

/** {@link replaceFile} with bytes without giving up the thread. */
export function replaceFileSync(
  dir: Dir,
  name: EntryName,
  bytes: Uint8Array,
  options: Omit<PublishFileOptions, 'exclusive'> = {},
): void {
  publishFileSync(dir, name, bytes, { ...options, exclusive: false });
}

function announcedSize(source: ContentSource): number | undefined {
  return 'open' in source && !(source instanceof Uint8Array) ? source.size : undefined;
}

async function fill(
  staged: StagedFile,
  source: ContentSource,
  signal: AbortSignal | undefined,
): Promise<void> {
  const pacer = new Pacer();
  for await (const chunk of chunksOf(source)) {
    for (let start = 0; start < chunk.length; start += pieceBytes) {
      throwIfAborted(signal);
      staged.append(chunk.subarray(start, start + pieceBytes));
      if (pacer.due) await pacer.rest(signal);
    }
  }
  throwIfAborted(signal);
}

function chunksOf(source: ContentSource): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  if (source instanceof Uint8Array) return [source];
  return 'open' in source ? source.open() : source;
}

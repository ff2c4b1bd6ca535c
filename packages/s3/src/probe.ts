import { equalBytes, type Random, randomHex, sha256Hex } from '@holdfast/base';

import { S3BucketUnsuitableError, type S3BucketUnsuitableErrorKind } from './errors.js';
import { probeDirectory } from './internal/keys.js';
import type { CreateOutcome, Objects } from './internal/objects.js';
import type { Upload } from './internal/upload.js';

export interface ProbeOptions {
  readonly objects: Objects;
  readonly bucket: string;
  /** Ends with `/`, or is empty. */
  readonly prefix: string;
  readonly encrypted: boolean;
  readonly random: Random;
  /** Now, in milliseconds since 1970. */
  readonly now: number;
  readonly signal: AbortSignal | undefined;
}

const contenders = 3;
const probeBytes = 48;
/** Objects of openings that died in the middle of their probe are removed when they are this old. */
const abandonedMilliseconds = 24 * 3600 * 1000;

/**
 * Tries out that a bucket does what blobs depend on, with one small object that is removed again:
 *
 * 1. of several creates at once, and one more afterwards, exactly one wins;
 * 2. a range of the object is that of the winner, and a listing shows it, in order;
 * 3. after its removal neither does.
 *
 * @throws S3BucketUnsuitableError saying what the bucket does not do.
 */
export async function probeBucket(options: ProbeOptions): Promise<void> {
  const { objects, random, signal, now } = options;
  const directory = `${options.prefix}${probeDirectory}`;
  const name = `${directory}${randomHex(random, 16)}`;
  try {
    const winner = await create(options, name);
    const [seen, abandoned] = await Promise.all([
      readRange(options, name, winner),
      listed(options, directory, name, now),
    ]);
    if (!seen) throw unsuitable(options, 'stale-reads', 'a new object was not found');
    if (abandoned === undefined) throw unsuitable(options, 'stale-listing', 'a new object was not listed');
    await objects.remove(name);
    const [stored, relisted] = await Promise.all([
      objects.look(name, signal),
      listed(options, directory, name, now),
    ]);
    if (stored !== undefined) throw unsuitable(options, 'stale-reads', 'a removed object was found');
    if (relisted !== undefined) throw unsuitable(options, 'stale-listing', 'a removed object was listed');
    for (const old of abandoned) await objects.remove(old);
  } catch (error) {
    if (S3BucketUnsuitableError.is(error)) await objects.remove(name).catch(() => undefined);
    throw error;
  }
}

/** Returns the content that won. */
async function create(options: ProbeOptions, name: string): Promise<Uint8Array> {
  const contents = Array.from({ length: contenders + 1 }, () => options.random.bytes(probeBytes));
  const put = async (content: Uint8Array): Promise<CreateOutcome> =>
    await options.objects.create(name, uploadOf(content), options.signal);
  const together = contents.slice(0, contenders);
  const outcomes = await Promise.all(together.map(put));
  outcomes.push(await put(contents[contenders] as Uint8Array));
  const winners = outcomes.flatMap((outcome, index) => (outcome.kind === 'created' ? [index] : []));
  if (winners.length > 1) {
    throw unsuitable(
      options,
      'ignores-conditions',
      `${winners.length} of ${contenders + 1} creates of one key succeeded`,
    );
  }
  const [winner] = winners;
  if (winner === undefined) {
    throw unsuitable(
      options,
      'ignores-conditions',
      `none of ${contenders + 1} creates of a new key succeeded`,
    );
  }
  const outcome = outcomes[winner];
  if (options.encrypted && outcome?.kind === 'created' && !outcome.encrypted) {
    throw unsuitable(options, 'ignores-encryption', 'its answer to a put names no encryption');
  }
  return contents[winner] as Uint8Array;
}

/** Reads the middle of the object; `false` when it is not there. */
async function readRange(options: ProbeOptions, name: string, winner: Uint8Array): Promise<boolean> {
  const range = { start: 16, end: 32 };
  const content = await options.objects.open(name, name, range, options.signal);
  if (content === 'absent') return false;
  if (content === 'beyond')
    throw unsuitable(options, 'ignores-ranges', 'a range inside an object was refused');
  const bytes: number[] = [];
  try {
    for await (const chunk of content.chunks) bytes.push(...chunk);
  } finally {
    await content.close();
  }
  const read = Uint8Array.from(bytes);
  if (equalBytes(read, winner.subarray(range.start, range.end))) return true;
  const right = read.length === range.end - range.start;
  throw right
    ? unsuitable(options, 'ignores-conditions', 'an object was overwritten by a create that was refused')
    : unsuitable(
        options,
        'ignores-ranges',
        `${range.end - range.start} bytes were asked for, ${read.length} came`,
      );
}

/** The abandoned objects of a listing that shows `name`; `undefined` when it does not. */
async function listed(
  options: ProbeOptions,
  directory: string,
  name: string,
  now: number,
): Promise<readonly string[] | undefined> {
  const abandoned: string[] = [];
  let found = false;
  for await (const { key, modified } of options.objects.list(directory, options.signal)) {
    if (key === name) found = true;
    else if (modified < now - abandonedMilliseconds) abandoned.push(key);
  }
  return found ? abandoned : undefined;
}

function uploadOf(content: Uint8Array): Upload {
  return {
    size: content.length,
    sha256: sha256Hex(content),
    body: () => ({
      content,
      complete: () => true,
      failure: () => undefined,
      drained: () => true,
      close: () => undefined,
    }),
  };
}

function unsuitable(
  options: ProbeOptions,
  kind: S3BucketUnsuitableErrorKind,
  detail: string,
): S3BucketUnsuitableError {
  return new S3BucketUnsuitableError(options.bucket, kind, detail);
}

import { createHmac } from 'node:crypto';

import { throwIfAborted } from '@holdfast/base';

import type { BlobEntry, DriverOptions } from '../../driver.js';
import type { BlobsLayer } from '../layer.js';
import { rekeyedDriver, withKey } from '../rekey.js';

/** A segment of a key that may be a digest: whole bytes in hex, from 128 to 512 bits. */
const digestPattern = /^(?:[0-9a-f]{2}){16,64}$/;
const rounds = 8;

/**
 * Replaces digests in keys by others of the same length, by a permutation that only the key's holder can compute, both
 * ways. Everything else in keys stays, so that lists by directory stay cheap; within a directory the order is lost in the
 * store and made again by the list.
 */
export function hideDigests(nameKey: Buffer, window: number): BlobsLayer {
  const hide = (key: string): string => mapSegments(key, (bytes) => permute(nameKey, bytes, 'forth'));
  const show = (key: string): string => mapSegments(key, (bytes) => permute(nameKey, bytes, 'back'));
  return (driver) => {
    async function* list(prefix: string, options: DriverOptions): AsyncGenerator<BlobEntry, void, undefined> {
      const hidden = hiddenPrefix(prefix, hide);
      let last: string | undefined;
      try {
        for (;;) {
          const { entries, complete } = await smallest(driver.list(hidden, options), {
            accept: (key) => key.startsWith(prefix) && (last === undefined || key > last),
            show,
            window,
            signal: options.signal,
          });
          yield* entries;
          if (complete) return;
          last = entries.at(-1)?.key;
        }
      } catch (error) {
        throw withKey(error, prefix);
      }
    }
    return rekeyedDriver(driver, hide, list);
  };
}

function mapSegments(key: string, map: (bytes: Buffer) => Buffer): string {
  return key
    .split('/')
    .map((segment) =>
      digestPattern.test(segment) ? map(Buffer.from(segment, 'hex')).toString('hex') : segment,
    )
    .join('/');
}

/** The part of a prefix that its hidden form is known of: not a last segment that may be the beginning of a digest. */
function hiddenPrefix(prefix: string, hide: (key: string) => string): string {
  const cut = prefix.lastIndexOf('/') + 1;
  const rest = prefix.slice(cut);
  return hide(prefix.slice(0, cut)) + (/^[0-9a-f]*$/.test(rest) ? '' : rest);
}

/** A Feistel network over the two halves; HMAC-SHA-256 makes what is added to one from the other. */
function permute(nameKey: Buffer, bytes: Buffer, direction: 'forth' | 'back'): Buffer {
  const result = Buffer.from(bytes);
  const half = result.length >> 1;
  const halves = [result.subarray(0, half), result.subarray(half)] as const;
  for (let step = 0; step < rounds; step += 1) {
    const round = direction === 'forth' ? step : rounds - 1 - step;
    const [target, other] = round % 2 === 0 ? halves : ([halves[1], halves[0]] as const);
    const mask = createHmac('sha256', nameKey)
      .update(Uint8Array.of(round, result.length))
      .update(other)
      .digest();
    for (let i = 0; i < target.length; i += 1) target[i] = (target[i] as number) ^ (mask[i] as number);
  }
  return result;
}

interface Selection {
  readonly accept: (key: string) => boolean;
  readonly show: (key: string) => string;
  readonly window: number;
  readonly signal: AbortSignal | undefined;
}

/** The smallest entries of an unordered list, at most a window of them. */
async function smallest(
  list: AsyncIterable<BlobEntry>,
  { accept, show, window, signal }: Selection,
): Promise<{ readonly entries: BlobEntry[]; readonly complete: boolean }> {
  let kept: BlobEntry[] = [];
  let complete = true;
  let limit: string | undefined;
  const trim = (): void => {
    kept.sort((a, b) => (a.key < b.key ? -1 : 1));
    if (kept.length <= window) return;
    kept = kept.slice(0, window);
    complete = false;
    limit = kept.at(-1)?.key;
  };
  for await (const entry of list) {
    throwIfAborted(signal);
    const key = show(entry.key);
    if (!accept(key)) continue;
    if (limit !== undefined && key > limit) continue;
    kept.push({ ...entry, key });
    if (kept.length >= 2 * window) trim();
  }
  trim();
  return { entries: kept, complete };
}

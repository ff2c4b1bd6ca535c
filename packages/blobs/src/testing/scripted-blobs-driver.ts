import { type BackendFault, type FaultScript, InjectedFault, plainFaults } from '@holdfast/base/testing';

import type { BlobContent, BlobEntry, BlobsDriver, DriverOptions, ReopenableSource } from '../driver.js';
import { BlobNotFoundError, BlobsAmbiguousError } from '../errors.js';

/** Operations of a blob store that a fault can hit; `read` is the stream of a get that has succeeded. */
export type BlobsFaultOperation = 'put' | 'get' | 'read' | 'stat' | 'list' | 'delete';

const everywhere: readonly BackendFault[] = ['error-before', 'io-error', 'throttled', 'revoked'];

/** Which of the eighteen kinds can happen to which operation. */
export const blobsFaults: Readonly<Record<BlobsFaultOperation, readonly BackendFault[]>> = Object.freeze({
  put: [
    ...everywhere,
    ...(['error-after', 'timeout', 'twice', 'short-write', 'sync-error'] as const),
    ...(['lost-acknowledged', 'condition-ignored'] as const),
  ],
  get: [...everywhere, 'stale-read'],
  read: ['short-read', 'corrupt-read', 'dropped-connection'],
  stat: [...everywhere, 'stale-read', 'clock-jump'],
  list: [
    ...everywhere,
    ...(['short-read', 'lagging-list', 'disordered-list', 'dropped-connection', 'clock-jump'] as const),
  ],
  delete: [...everywhere, 'error-after', 'timeout', 'twice', 'lost-acknowledged'],
});

/** Milliseconds by which the clock of a backend jumps: ten years. */
const jump = 315_576_000_000;

/** Passes calls on to another driver, and makes those go wrong that a script names. Never for production. */
export function scriptedBlobsDriver(
  inner: BlobsDriver,
  script: FaultScript<BlobsFaultOperation>,
): BlobsDriver {
  const before = (operation: BlobsFaultOperation): BackendFault | undefined => {
    const kind = script.next(operation);
    if (kind !== undefined && plainFaults.has(kind)) throw new InjectedFault(kind, operation);
    return kind;
  };
  return {
    contract: 'blobs/1',
    supports: inner.supports,
    storagePaths: () => inner.storagePaths(),
    put: async (key, source, options) => {
      const kind = before('put');
      const lost = (): BlobsAmbiguousError =>
        new BlobsAmbiguousError('put', key, { cause: new InjectedFault(kind ?? 'timeout', 'put') });
      switch (kind) {
        case 'error-after':
        case 'sync-error':
          await inner.put(key, source, options);
          throw lost();
        case 'timeout': {
          const bytes = await drained(source);
          script.later(async () => await inner.put(key, { size: bytes.length, open: () => once(bytes) }, {}));
          throw lost();
        }
        case 'twice': {
          const first = await inner.put(key, source, options);
          await inner.put(key, source, options);
          return first;
        }
        case 'lost-acknowledged':
          await drained(source);
          return { created: true };
        case 'condition-ignored':
          await inner.delete(key, options);
          return await inner.put(key, source, options);
        default:
          return await inner.put(key, source, options);
      }
    },
    get: async (key, options) => {
      if (before('get') === 'stale-read') throw new BlobNotFoundError(key);
      const content = await inner.get(key, options);
      const kind = before('read');
      return kind === undefined ? content : brokenContent(content, kind);
    },
    stat: async (key, options) => {
      const kind = before('stat');
      const info = kind === 'stale-read' ? undefined : await inner.stat(key, options);
      return kind === 'clock-jump' && info !== undefined ? { ...info, modified: info.modified + jump } : info;
    },
    list: (prefix, options) => brokenList(inner, before, prefix, options),
    delete: async (key, options) => {
      const kind = before('delete');
      if (kind === 'lost-acknowledged') return;
      if (kind === 'timeout') {
        script.later(async () => {
          await inner.delete(key, {});
        });
      } else await inner.delete(key, options);
      if (kind === 'twice') await inner.delete(key, options);
      if (kind === 'timeout' || kind === 'error-after') {
        throw new BlobsAmbiguousError('delete', key, { cause: new InjectedFault(kind, 'delete') });
      }
    },
    close: async () => {
      await inner.close();
    },
  };
}

async function* brokenList(
  inner: BlobsDriver,
  before: (operation: BlobsFaultOperation) => BackendFault | undefined,
  prefix: string,
  options: DriverOptions,
): AsyncGenerator<BlobEntry, void, undefined> {
  const kind = before('list');
  if (kind === undefined) {
    yield* inner.list(prefix, options);
    return;
  }
  const entries: BlobEntry[] = [];
  for await (const entry of inner.list(prefix, options)) entries.push(entry);
  if (kind === 'disordered-list') yield* entries.reverse();
  else if (kind === 'clock-jump')
    yield* entries.map((entry) => ({ ...entry, modified: entry.modified + jump }));
  else yield* entries.slice(0, -1);
  if (kind === 'dropped-connection') throw new InjectedFault(kind, 'list');
}

function brokenContent(content: BlobContent, kind: BackendFault): BlobContent {
  return {
    size: content.size,
    chunks: brokenChunks(content.chunks, kind),
    close: async () => {
      await content.close();
    },
  };
}

async function* brokenChunks(
  chunks: AsyncIterable<Uint8Array>,
  kind: BackendFault,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    const copy = Uint8Array.from(chunk);
    if (kind === 'corrupt-read' && copy.length > 0) {
      copy[0] = (copy[0] as number) ^ 1;
      yield copy;
      continue;
    }
    yield copy.subarray(0, Math.floor(copy.length / 2));
    if (kind === 'dropped-connection') throw new InjectedFault(kind, 'read');
    return;
  }
}

async function drained(source: ReopenableSource): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of source.open()) parts.push(Uint8Array.from(chunk));
  return Buffer.concat(parts);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  if (bytes.length > 0) yield await Promise.resolve(bytes);
}

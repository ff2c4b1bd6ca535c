import type { BlobEntry } from '../driver.js';
import { BlobsBackendError } from '../errors.js';
import type { Fault } from './fault-plan.js';

/** Passes the chunks of a read on, damaged as the fault says. */
export async function* brokenChunks(
  chunks: AsyncIterable<Uint8Array>,
  fault: Fault,
  key: string,
  wait: () => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (fault.kind === 'hang' || fault.kind === 'slow') await wait();
  let first = true;
  for await (const chunk of chunks) {
    if (!first) {
      yield chunk;
      continue;
    }
    first = false;
    const half = chunk.subarray(0, Math.floor(chunk.length / 2));
    switch (fault.kind) {
      case 'cut':
        yield half;
        return;
      case 'broken':
        yield half;
        throw connectionLost('read', fault, key);
      case 'flipped': {
        const damaged = new Uint8Array(chunk);
        damaged[0] = (damaged[0] ?? 0) ^ 1;
        yield damaged;
        break;
      }
      case 'doubled':
        yield chunk;
        yield chunk;
        break;
      default:
        yield chunk;
    }
  }
}

/** Passes the entries of a list on, damaged as the fault says; the damage is at the second entry where there is one. */
export async function* brokenEntries(
  entries: AsyncIterable<BlobEntry>,
  fault: Fault,
  prefix: string,
): AsyncGenerator<BlobEntry, void, undefined> {
  let held: BlobEntry | undefined;
  let position = 0;
  for await (const entry of entries) {
    position += 1;
    if (position !== 2) {
      yield entry;
      if (held !== undefined) yield held;
      held = undefined;
      continue;
    }
    if (fault.kind === 'cut') return;
    if (fault.kind === 'broken') throw connectionLost('list', fault, prefix);
    if (fault.kind === 'omitted') continue;
    if (fault.kind === 'swapped') held = entry;
    else yield entry;
    if (fault.kind === 'doubled') yield entry;
  }
  if (held !== undefined) yield held;
}

function connectionLost(operation: 'read' | 'list', fault: Fault, key: string): BlobsBackendError {
  const cause = new Error(`injected fault: ${fault.kind} ${fault.operation}`);
  return new BlobsBackendError(operation, key, { cause, retryable: true });
}

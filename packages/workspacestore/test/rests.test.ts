import * as fs from 'node:fs';
import * as path from 'node:path';

import { seededRandom } from '@holdfast/base/testing';
import { memoryBlobs } from '@holdfast/blobs';
import { type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { temporaryDirectory } from './support/temporary.js';

/** Work on a store in memory never waits for anything by itself; it has to let the event loop turn all the same. */

/** Worth compressing. */
const noise = Buffer.from(Buffer.from(seededRandom(5).bytes(8 * 2 ** 20)).toString('hex'));

let store: WorkspaceStore;
let ref: Ref;

beforeAll(async () => {
  const root = path.join(temporaryDirectory(), 'root');
  fs.mkdirSync(root);
  for (let file = 0; file < 3_000; file += 1) fs.writeFileSync(path.join(root, `f${file}`), `file ${file}\n`);
  // In chunks.
  fs.writeFileSync(path.join(root, 'large'), noise);
  // One thread: what others do leaves this one free anyway.
  store = await WorkspaceStore.open(memoryBlobs(), { threads: false });
  ({ ref } = await store.snapshot(root));
});

afterAll(async () => {
  await store.close();
});

/** Counts the turns of the event loop until it is disposed of. */
class Turns implements Disposable {
  count = 0;
  #ended = false;

  constructor() {
    const turn = (): void => {
      this.count += 1;
      if (!this.#ended) setImmediate(turn);
    };
    setImmediate(turn);
  }

  [Symbol.dispose](): void {
    this.#ended = true;
  }
}

/** The most bytes of a stream that came within one turn of the event loop, as a share of all. */
async function largestShare(stream: AsyncIterable<Uint8Array>): Promise<number> {
  using turns = new Turns();
  const inTurn = new Map<number, number>();
  let all = 0;
  for await (const { length } of stream) {
    inTurn.set(turns.count, (inTurn.get(turns.count) ?? 0) + length);
    all += length;
  }
  return Math.max(...inTurn.values()) / all;
}

// What they do takes tens of times as long as one turn may, on any machine.
describe('the event loop turns', () => {
  test('while a file is read', async () => {
    expect(await largestShare(await store.read(ref, 'large'))).toBeLessThan(0.4);
  });

  test('while a tree is exported', async () => {
    expect(await largestShare(await store.exportTar(ref))).toBeLessThan(0.4);
  });

  test('so that an abort is met in between', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    const reading = store.read(ref, 'large', { signal: abort.signal }).then(async (pieces) => {
      setImmediate(() => {
        abort.abort(reason);
      });
      return await largestShare(pieces);
    });
    await expect(reading).rejects.toBe(reason);
  });
});

import assert from 'node:assert/strict';

import type { CaseDefinition, Requirement } from '@holdfast/base/testing';

import { BlobsUnsupportedError } from '../../errors.js';
import { chunked, collect, freshBytes, pausing, reached, started } from '../content.js';
import { holds, lacks } from '../expectations.js';
import { type BlobsHarness, openAgain, openFresh, original } from '../harness.js';

/**
 * Where durability is not declared, callers that need it must be refused; where it is declared but the harness has no
 * way to crash, at least a clean close must keep everything.
 */
const crashable: Requirement<BlobsHarness> = {
  capability: 'supports.durable and harness.crash',
  met: async (harness) => {
    const store = await harness.fresh();
    const { durable } = store.supports;
    await store.close();
    return durable && harness.crash !== undefined;
  },
  otherwise: async (harness, scope) => {
    const store = await openFresh(harness, scope);
    if (!store.supports.durable) {
      assert.throws(
        () => store.assertSupports({ durable: true }),
        (error) => BlobsUnsupportedError.is(error),
        'a store that is not durable must refuse callers that need it',
      );
    }
    const bytes = freshBytes(scope.random, 1000);
    await store.put('kept', bytes);
    await store.close();
    await holds(
      await openAgain(harness, scope, store),
      'kept',
      bytes,
      'a clean close must keep what was put',
    );
  },
};

/** Clause 11: durability. */
export const survivingCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '11.1',
    name: 'what a resolved put stored survives a crash',
    requires: crashable,
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const contents = new Map<string, Uint8Array>();
      for (const key of ['a', 'a/b', 'deep/er/and/deeper', 'other']) {
        const bytes = freshBytes(scope.random, 5000);
        contents.set(key, bytes);
        await store.put(key, chunked(bytes, 1000));
      }
      const repeated = freshBytes(scope.random, 100);
      await store.put('repeated', repeated);
      await store.put('repeated', repeated);
      contents.set('repeated', repeated);
      const after = scope.use(await crash(harness, store));
      const rule =
        'a put may resolve only when the object and every directory that leads to it survive a loss of power';
      for (const [key, bytes] of contents) await holds(after, key, bytes, rule);
      assert.equal(
        (await collect(after.list())).length,
        contents.size,
        'a crash must not bring anything to light',
      );
    },
  },
  {
    clause: '11.2',
    name: 'what a resolved delete removed stays removed after a crash',
    requires: crashable,
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 5000);
      await store.put('kept', bytes);
      await store.put('gone', bytes);
      await store.delete('gone');
      const after = scope.use(await crash(harness, store));
      await lacks(after, 'gone', 'a delete may resolve only when the removal survives a loss of power');
      await holds(after, 'kept', bytes, 'a delete must leave others alone');
    },
  },
  {
    clause: '11.3',
    name: 'a put that a crash cut off leaves nothing visible, and can be repeated',
    requires: crashable,
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 100_000);
      const source = pausing(bytes, 60_000);
      const put = started(store.put('cut', source));
      await reached(source, put);
      const after = scope.use(await crash(harness, store));
      await lacks(
        after,
        'cut',
        'an object whose put never got all its bytes must not be visible after a crash',
      );
      const { created } = await after.put('cut', bytes);
      assert.equal(created, true, 'what a cut-off put left behind must not be in the way of the next one');
      await holds(after, 'cut', bytes, 'a put that is repeated after a crash stores the object');
      source.resume();
      await put.catch(() => undefined);
    },
  },
];

async function crash(
  harness: BlobsHarness,
  store: Parameters<typeof original>[0],
): ReturnType<BlobsHarness['reopen']> {
  if (harness.crash === undefined) throw new TypeError('the harness has no crash()');
  return await harness.crash(original(store));
}

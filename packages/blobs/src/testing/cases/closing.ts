import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { BlobsClosedError } from '../../errors.js';
import { collect, freshBytes, pausing, reached, started } from '../content.js';
import { holds, lacks, refuses } from '../expectations.js';
import { type BlobsHarness, openAgain, openFresh, original } from '../harness.js';

/** Clause 9: close. */
export const closingCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '9.1',
    name: 'every method of a closed store rejects with the closed error',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 10);
      await store.put('there', bytes);
      await store.close();
      const rule = 'a closed store must refuse every call with BlobsClosedError';
      await refuses(store.put('new', bytes), BlobsClosedError, `put: ${rule}`);
      await refuses(store.get('there'), BlobsClosedError, `get: ${rule}`);
      await refuses(store.getBytes('missing'), BlobsClosedError, `getBytes: ${rule}`);
      await refuses(store.stat('there'), BlobsClosedError, `stat: ${rule}`);
      await refuses(store.list().next(), BlobsClosedError, `list: ${rule}`);
      await refuses(store.delete('there'), BlobsClosedError, `delete: ${rule}`);
      const again = await openAgain(harness, scope, store);
      await holds(again, 'there', bytes, 'a refused call on a closed store has no effect');
      await lacks(again, 'new', 'a refused call on a closed store has no effect');
    },
  },
  {
    clause: '9.2',
    name: 'close and asyncDispose can be called again and at the same time',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await Promise.all([store.close(), store.close(), store[Symbol.asyncDispose]()]);
      await store.close();
      await store[Symbol.asyncDispose]();
    },
  },
  {
    clause: '9.3',
    name: 'close ends what still runs with the closed error, frees it and leaves nothing half-done',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 300_000);
      await store.put('read', bytes);
      await store.put('read/too', bytes);
      const before = await harness.held?.(original(store));
      const source = pausing(bytes, 100_000);
      const put = started(store.put('stuck', source));
      const reading = (await store.get('read'))[Symbol.asyncIterator]();
      await reading.next();
      const listing = store.list();
      await listing.next();
      await reached(source, put);
      const [closed, stopped] = await Promise.allSettled([store.close(), put]);
      assert.equal(closed.status, 'fulfilled', 'close must resolve although calls were running');
      const rule = 'close must end running calls with BlobsClosedError';
      assert.ok(stopped.status === 'rejected' && BlobsClosedError.is(stopped.reason), `put: ${rule}`);
      await refuses(reading.next(), BlobsClosedError, `a read: ${rule}`);
      await refuses(listing.next(), BlobsClosedError, `a list: ${rule}`);
      source.resume();
      assert.equal(
        await harness.held?.(original(store)),
        before,
        'close must free handles and connections of reads',
      );
      const again = await openAgain(harness, scope, store);
      await lacks(again, 'stuck', 'a put that close ended leaves nothing visible');
    },
  },
  {
    clause: '9.4',
    name: 'closing one view leaves other views of the same storage usable',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const bytes = freshBytes(scope.random, 10);
      await store.put('shared', bytes);
      await store.close();
      await holds(other, 'shared', bytes, 'closing a view must not close what other views use');
      await other.put('more', bytes);
      assert.equal(
        (await collect(other.list())).length,
        2,
        'closing a view must not close what other views use',
      );
    },
  },
];

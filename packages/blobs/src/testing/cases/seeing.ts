import assert from 'node:assert/strict';

import type { CaseDefinition, CaseScope, Requirement } from '@holdfast/base/testing';

import { BlobsUnsupportedError } from '../../errors.js';
import { freshBytes } from '../content.js';
import { holds, lacks } from '../expectations.js';
import { type BlobsHarness, openAgain, openFresh } from '../harness.js';

/** What must hold where strong visibility is not declared: the declaration refuses those who depend on it. */
const strong: Requirement<BlobsHarness> = {
  capability: 'supports.visibility: strong',
  met: async (harness) => {
    const store = await harness.fresh();
    const { visibility } = store.supports;
    await store.close();
    return visibility === 'strong';
  },
  otherwise: async (harness, scope) => {
    const store = await openFresh(harness, scope);
    assert.throws(
      () => store.assertSupports({ visibility: 'strong' }),
      (error) => BlobsUnsupportedError.is(error),
      'a store that does not declare strong visibility must refuse callers that need it',
    );
    await seenByOthers(harness, scope);
  },
};

/** Clause 7: visibility. */
export const seeingCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '7.1',
    name: 'what one view puts, a view that was open before sees at once',
    requires: strong,
    check: seenByOthers,
  },
  {
    clause: '7.2',
    name: 'what one view deletes, a view that has read it before no longer sees',
    requires: {
      ...strong,
      otherwise: async (harness, scope) => {
        const store = await openFresh(harness, scope);
        assert.throws(
          () => store.assertSupports({ visibility: 'strong' }),
          (error) => BlobsUnsupportedError.is(error),
          'a store that does not declare strong visibility must refuse callers that need it',
        );
      },
    },
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const bytes = freshBytes(scope.random, 70_000);
      await store.put('shared/blob', bytes);
      await holds(other, 'shared/blob', bytes, 'a view must see what was put');
      await store.delete('shared/blob');
      await lacks(
        other,
        'shared/blob',
        'a view must ask the backend, not its own memory, whether an object is there',
      );
      const next = freshBytes(scope.random, 70_000);
      await other.put('shared/blob', next);
      await holds(store, 'shared/blob', next, 'a view must show the object that is there now');
    },
  },
  {
    clause: '7.3',
    name: 'everything is still there when a store is closed and opened again',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 70_000);
      await store.put('kept', bytes);
      await store.put('kept/below', new Uint8Array());
      await store.put('dropped', bytes);
      await store.delete('dropped');
      await store.close();
      const again = await openAgain(harness, scope, store);
      await holds(again, 'kept', bytes, 'a store that is opened again must hold what was put');
      await holds(
        again,
        'kept/below',
        new Uint8Array(),
        'a store that is opened again must hold what was put',
      );
      await lacks(again, 'dropped', 'a store that is opened again must not hold what was deleted');
    },
  },
  {
    clause: '7.4',
    name: 'stores that were opened fresh share nothing',
    check: async (harness, scope) => {
      const one = await openFresh(harness, scope);
      const two = await openFresh(harness, scope);
      await one.put('private', freshBytes(scope.random, 10));
      await lacks(
        two,
        'private',
        'fresh() of the harness must give an isolated store, or the other cases prove nothing',
      );
    },
  },
];

async function seenByOthers(harness: BlobsHarness, scope: CaseScope): Promise<void> {
  const store = await openFresh(harness, scope);
  const other = await openAgain(harness, scope, store);
  await lacks(other, 'shared/blob', 'a fresh store is empty');
  const bytes = freshBytes(scope.random, 70_000);
  await store.put('shared/blob', bytes);
  await holds(other, 'shared/blob', bytes, 'a view must not remember that an object was absent');
}

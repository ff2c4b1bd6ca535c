import assert from 'node:assert/strict';
import { isAbsolute, resolve } from 'node:path';

import { type ErrorClass, isHoldfastError } from '@holdfast/base';
import type { CaseDefinition } from '@holdfast/base/testing';

import type { Blobs } from '../../blobs.js';
import {
  BlobConflictError,
  BlobNotFoundError,
  BlobRangeError,
  BlobSourceError,
  BlobsClosedError,
  BlobsUnsupportedError,
} from '../../errors.js';
import { freshBytes, lying } from '../content.js';
import { type BlobsHarness, openAgain, openFresh } from '../harness.js';

/** Clause 10: declarations and errors. */
export const declaringCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '10.1',
    name: 'supports is frozen, complete and the same in every view',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const { supports } = store;
      assert.ok(Object.isFrozen(supports), 'supports must be frozen: it is a fact, not a setting');
      assert.ok(
        ['strong', 'eventual'].includes(supports.visibility),
        'supports.visibility must be strong or eventual',
      );
      assert.equal(typeof supports.durable, 'boolean', 'supports.durable must be true or false');
      assert.deepEqual({ ...other.supports }, { ...supports }, 'views of one storage must declare the same');
    },
  },
  {
    clause: '10.2',
    name: 'what is declared is accepted by those who need it, what is not is refused',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const { visibility, durable } = store.supports;
      const refused = (error: unknown): boolean => BlobsUnsupportedError.is(error);
      const rule = 'assertSupports must follow supports';
      if (visibility === 'strong') store.assertSupports({ visibility: 'strong' });
      else assert.throws(() => store.assertSupports({ visibility: 'strong' }), refused, rule);
      if (durable) store.assertSupports({ durable: true });
      else assert.throws(() => store.assertSupports({ durable: true }), refused, rule);
      store.assertSupports({});
    },
  },
  {
    clause: '10.3',
    name: 'storagePaths names canonical local directories, the same in every view, open or closed',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const paths = store.storagePaths();
      for (const path of paths) {
        assert.ok(
          isAbsolute(path) && resolve(path) === path,
          `storagePaths must be absolute and normal: ${path}`,
        );
      }
      assert.deepEqual(other.storagePaths(), paths, 'views of one storage must name the same paths');
      await store.close();
      assert.deepEqual(store.storagePaths(), paths, 'storagePaths is a fact that outlives close');
    },
  },
  {
    clause: '10.4',
    name: 'every error has class, code, name and facts, and survives JSON and structuredClone of it',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      for (const [error, Class, fields] of await provoke(store, freshBytes(scope.random, 10))) {
        const rule = `${Class.name} must be made by its class, whatever the adapter throws inside`;
        assert.ok(isHoldfastError(error) && Class.is(error), `${rule}; got ${String(error)}`);
        assert.equal(error.name, Class.name, rule);
        assert.equal(error.code, Class.code, rule);
        assert.ok(error.message.length > 0 && !error.message.includes('\n'), 'messages must be one line');
        const json = error.toJSON();
        assert.deepEqual(
          structuredClone(JSON.parse(JSON.stringify(json))),
          { ...json },
          'toJSON must be plain JSON',
        );
        for (const [field, value] of Object.entries(fields)) {
          assert.deepEqual(json[field], value, `the field ${field} must speak of what the caller asked for`);
        }
      }
    },
  },
];

type Provoked = readonly [
  error: unknown,
  Class: ErrorClass<unknown> & { name: string; code: string },
  fields: object,
];

/** Makes the store throw every member of the family that needs no broken backend. Closes it. */
async function provoke(store: Blobs, bytes: Uint8Array): Promise<Provoked[]> {
  const caught = async (call: Promise<unknown>): Promise<unknown> =>
    await call.then(
      () => undefined,
      (e: unknown) => e,
    );
  await store.put('taken/key', bytes);
  const provoked = [
    [await caught(store.get('absent/key')), BlobNotFoundError, { key: 'absent/key' }],
    [
      await caught(store.put('taken/key', new Uint8Array())),
      BlobConflictError,
      { key: 'taken/key', effect: 'none' },
    ],
    [
      await caught(store.get('taken/key', { range: { start: 1, end: 11 } })),
      BlobRangeError,
      { key: 'taken/key', start: 1, end: 11, size: 10 },
    ],
    [
      await caught(store.put('new/key', lying(9, bytes))),
      BlobSourceError,
      { key: 'new/key', kind: 'too-long', expected: 9, effect: 'none' },
    ],
  ];
  await store.close();
  provoked.push([await caught(store.stat('taken/key')), BlobsClosedError, { effect: 'none' }]);
  return provoked as unknown as Provoked[];
}

import assert from 'node:assert/strict';

import { InvalidNameError } from '@holdfast/base';
import { type CaseDefinition, illegalNames, legalNames } from '@holdfast/base/testing';

import { maxOwnerBytes } from '../../owner.js';
import { leaserCase } from '../define-cases.js';
import type { LeaserHarness } from '../harness.js';

/** Section 1 of the contract: names and arguments. */
export const nameCases: readonly CaseDefinition<LeaserHarness>[] = [
  leaserCase('1.1', 'every legal name can be acquired', async (tools) => {
    const leaser = await tools.fresh();
    const longest = tools.harness.longestName ?? 512;
    for (const name of [...legalNames, 'x'.repeat(longest)]) {
      if (name.length > longest) continue;
      await tools.expectFree(leaser, name, `the legal name ${JSON.stringify(name)} must be accepted`);
    }
  }),

  leaserCase('1.2', 'names that contain each other are independent, whatever the order', async (tools) => {
    for (const names of [
      ['a', 'a/b', 'a.ext', 'a.ext/b'],
      ['a.ext/b', 'a.ext', 'a/b', 'a'],
    ]) {
      const leaser = await tools.fresh();
      const held = [];
      for (const name of names) held.push(await tools.acquire(leaser, name));
      for (const lease of held) await tools.settle(lease.check());
    }
  }),

  leaserCase('1.3', 'an illegal name is refused with the rule it breaks', async (tools) => {
    const leaser = await tools.fresh();
    for (const { name, rule } of illegalNames) {
      const fix = `acquire(${JSON.stringify(name)}) must reject with InvalidNameError before anything is stored`;
      const error = await tools.rejection(leaser.acquire(name as string), fix);
      assert.ok(InvalidNameError.is(error), fix);
      assert.equal(error.rule, rule, fix);
    }
  }),

  leaserCase('1.4', 'an owner that is not plain JSON, or too large, is refused', async (tools) => {
    const leaser = await tools.fresh();
    const name = tools.name();
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    const wrong = [
      'text',
      ['list'],
      null,
      new Date(0),
      { when: new Date(0) },
      { count: Number.NaN },
      { call: () => 1 },
      cyclic,
      { text: 'x'.repeat(maxOwnerBytes) },
    ];
    for (const owner of wrong) {
      const error = await tools.rejection(
        leaser.acquire(name, { owner: owner as never }),
        'an owner that cannot be kept as JSON must be refused, never stored in part',
      );
      assert.ok(
        error instanceof TypeError || error instanceof RangeError,
        'a wrong owner is an argument mistake',
      );
    }
    await tools.expectFree(leaser, name, 'a refused owner must leave the name free');
  }),

  leaserCase('1.5', 'checkName refuses what acquire refuses, and nothing else', async (tools) => {
    const leaser = await tools.fresh();
    const longest = tools.harness.longestName ?? 512;
    const refusal = (name: string): InvalidNameError | undefined => {
      try {
        leaser.checkName(name);
        return undefined;
      } catch (error) {
        const fix = `checkName(${JSON.stringify(name)}) must throw InvalidNameError, as acquire rejects`;
        assert.ok(InvalidNameError.is(error), fix);
        return error;
      }
    };
    for (const name of [...legalNames, 'x'.repeat(longest)]) {
      if (name.length > longest) continue;
      assert.equal(
        refusal(name),
        undefined,
        `checkName must let the legal name ${JSON.stringify(name)} pass`,
      );
    }
    const tooLong = { name: 'x'.repeat(longest + 1), rule: 'too-long' };
    for (const { name, rule } of [...illegalNames, tooLong]) {
      const fix = `checkName(${JSON.stringify(name)}) must refuse the name that acquire refuses`;
      assert.equal(refusal(name as string)?.rule, rule, fix);
      const error = await tools.rejection(leaser.acquire(name as string), fix);
      assert.ok(InvalidNameError.is(error), fix);
    }
    await leaser.close();
    assert.equal(refusal(tools.name()), undefined, 'checkName asks nobody, so a closed leaser answers too');
  }),
];

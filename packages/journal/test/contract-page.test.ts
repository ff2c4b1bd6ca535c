import { readFileSync } from 'node:fs';

import { ledgerContract } from '@holdfast/journal/testing';
import { expect, it } from 'vitest';

const page = readFileSync(new URL(`../../../${ledgerContract.page}`, import.meta.url), 'utf8');

it('has one case per clause of the contract page, in the same order', () => {
  const clauses = [...page.matchAll(/^- \*\*(\d+\.\d+)\*\* /gm)].map((match) => match[1]);
  expect(clauses.length).toBeGreaterThanOrEqual(35);
  expect(ledgerContract.cases.map(({ clause }) => clause)).toEqual(clauses);
});

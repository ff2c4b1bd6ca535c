import { readFileSync } from 'node:fs';

import { verifyLedger } from '@holdfast/journal/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openCarelessFileLedger } from '../src/careless-file-ledger.mjs';
import { removeDirectories, temporaryDirectory } from '../src/harness.mjs';

afterAll(removeDirectories);

/** What the suite must say about each mistake, so that its author knows what to change. */
const explanations = {
  2.1: /other bytes/,
  2.4: /creates nothing|list must not show/,
  2.5: /exactly one must succeed/,
  2.6: /stand together|every acknowledged record/,
  2.8: /other bytes/,
  3.4: /limit/,
  4.2: /list of prefix/,
  4.4: /others stay/,
  8.6: /supports must be frozen/,
};

describe('the suite explains the careless driver', () => {
  /** @type {import('@holdfast/base/testing').ContractReport} */
  let report;
  beforeAll(async () => {
    const opened = new Map();
    const open = async (directory) => {
      const ledger = await openCarelessFileLedger(directory);
      opened.set(ledger, directory);
      return ledger;
    };
    report = await verifyLedger({
      adapter: 'careless file ledger',
      limits: { caseMilliseconds: 5_000 },
      fresh: async () => await open(await temporaryDirectory()),
      reopen: async (ledger) => await open(opened.get(ledger)),
    });
  });

  it('refuses it', () => {
    expect(report.ok).toBe(false);
    expect(report.summary).toMatch(/^contract: ledger\/1, cases \d+, advisory 0: \d+ failed$/);
  });

  it.each(Object.entries(explanations))('says what is wrong at clause %s', (clause, explanation) => {
    const result = report.cases.find((candidate) => candidate.clause === clause);
    expect(result?.failure?.message).toMatch(explanation);
    expect(result?.failure?.message).toContain(`docs/contracts/ledger.md, clause ${clause}`);
  });

  it('has every clause that its README names', () => {
    const page = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const table = page.slice(page.indexOf('## The careless one'));
    const named = [...table.matchAll(/^\| .* \| ([\d., ]+) \|$/gm)].flatMap(
      (match) => match[1]?.split(', ') ?? [],
    );
    expect(named.length).toBeGreaterThan(6);
    const failed = new Set(
      report.cases.filter((result) => result.failure !== undefined).map(({ clause }) => clause),
    );
    for (const clause of named) expect([clause, failed.has(clause)]).toEqual([clause, true]);
  });
});

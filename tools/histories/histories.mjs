#!/usr/bin/env node
/**
 * Simulates clients of a ledger and of a lease beside each other, records what they are told, and checks that one order
 * of their calls explains all of it: `node tools/histories/histories.mjs --count 10000 --seed 1`. Ends at the first
 * history that none explains, and prints it.
 */
import { parseArgs } from 'node:util';

import { countForCampaign } from '../campaign/count.mjs';
import { Tally } from '../shared/tally.mjs';
import { leaseHistory } from './lease.mjs';
import { ledgerHistory } from './ledger.mjs';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: process.env['HOLDFAST_HISTORIES'] ?? '200' },
    seed: { type: 'string', default: process.env['HOLDFAST_SEED'] ?? '1' },
  },
});
const tally = new Tally();

for (const [what, history] of /** @type {const} */ ([
  ['ledger', ledgerHistory],
  ['lease', leaseHistory],
])) {
  const first = Number(values.seed);
  const count = Number(values.count);
  let calls = 0;
  let wrong = false;
  for (let seed = first; seed < first + count && !wrong; seed += 1) {
    const { verdict, calls: made } = await history(seed);
    calls += made.length;
    if (verdict.linearizable) continue;
    wrong = true;
    console.error(`${what}, seed ${seed}: no order explains this history`);
    for (const call of made) console.error(`  ${JSON.stringify(call)}`);
    console.error(`unexplained: ${JSON.stringify(verdict.unexplained)}`);
  }
  if (!wrong) countForCampaign(`histories of a ${what} that one order explains`, count);
  tally.count(!wrong);
  console.log(`${what}: ${count} histories of ${calls} calls, seeds ${first}–${first + count - 1}`);
}
console.log(String(tally));
process.exitCode = tally.exitCode;

/**
 * Second act: a session with a root of its own, seeded from a snapshot and exchanged as a whole. Here the journal counts:
 * what a killed process left is recorded first, and the root is brought back to the last checkpoint.
 */
import { existsSync } from 'node:fs';

import { listTree } from '../oracle/oracle.mjs';
import {
  bytes,
  check,
  checkEqual,
  checkPlan,
  gone,
  holdfast,
  ms,
  planLine,
  short,
  showTimeline,
  since,
  startAgent,
  step,
} from './theatre.mjs';

/**
 * @param {string} home
 * @param {string} base
 * @param {string} seed
 * @param {import('./theatre.mjs').OracleEntry[]} seeded What the seed holds.
 * @param {string} copy Where the last checkpoint is materialized.
 */
export async function ownRoot(home, base, seed, seeded, copy) {
  const agent = startAgent(['work', home, 'own', base, seed]);
  const { id, root, ...opened } = await agent.next('opened');
  check(opened.trigger === 'seed', 'the seed is not the first checkpoint');
  checkEqual(seeded, listTree(root), 'after the session was seeded');
  step(
    `  session ${id} opened by process ${agent.pid}, seeded from ${short(seed)} in ${ms(opened.ms)}; first checkpoint ${short(opened.ref)}`,
  );

  /** @type {{ turn: string, ref: string, listing: typeof seeded }[]} */
  const turns = [];
  for (let turn = 1; turn <= 2; turn += 1) {
    agent.say('turn');
    const done = await agent.next('turn');
    turns.push({ turn: done.turn, ref: done.ref, listing: listTree(root) });
    step(
      `  turn ${turn}: ${done.calls} tool calls; checkpoint ${short(done.ref)} stored ${bytes(done.bytesStored)}, ${ms(done.ms)}`,
    );
  }
  const first = /** @type {(typeof turns)[0]} */ (turns[0]);
  const last = /** @type {(typeof turns)[0]} */ (turns.at(-1));

  agent.say('wreck');
  const wreck = await agent.next('editing');
  agent.kill('SIGKILL');
  await agent.ended;
  await gone(wreck.pid);
  const wreckage = listTree(root);
  step(`  SIGKILL in the middle of turn 3`);

  const takeover = performance.now();
  const second = startAgent(['resume', home, 'own', base, id]);
  const resumed = await second.next('resumed');
  const recovered = resumed.drift?.recovered;
  check(recovered !== undefined, 'what the killed turn left was not recorded');
  check(resumed.interrupted === 1, 'the killed turn is not recorded as interrupted');
  checkEqual(last.listing, listTree(root), 'after the session was opened');
  step(
    `  process ${second.pid} took the session over in ${since(takeover)}: the wreckage is recorded as ${short(recovered)}, turn 2 is back byte for byte`,
  );
  step('  timeline:');
  showTimeline(resumed.timeline);

  second.say(`preview ${recovered}`);
  const { plan } = await second.next('plan');
  const paths = checkPlan(plan, last.listing, wreckage);
  step(`  preview of the wreckage: ${planLine(plan)}; the oracle agrees about all ${paths} paths`);
  second.say('restore');
  const { receipt } = await second.next('receipt');
  checkEqual(wreckage, listTree(root), 'after the restore of the wreckage');
  check(receipt.exact && receipt.strategy === 'swap', 'the root was not exchanged');
  step(
    `  exchanged in ${ms(receipt.durationMs)}: what the killed turn had written is not lost, byte for byte`,
  );

  second.say(`rewind ${first.turn}`);
  await second.next('receipt');
  checkEqual(first.listing, listTree(root), 'after the rewind to turn 1');
  second.say('undo');
  await second.next('receipt');
  checkEqual(wreckage, listTree(root), 'after the undo');
  second.say(`preview ${last.ref}`);
  await second.next('plan');
  second.say('restore');
  await second.next('receipt');
  checkEqual(last.listing, listTree(root), 'after the restore of turn 2');
  step('  rewound to turn 1, undone, restored to turn 2: each equal byte for byte');

  second.say('shutdown');
  await second.next('closed');
  await second.ended;

  // The same session for people, through the command.
  const log = await holdfast(['session', 'log', id, '--home', home]);
  const restored = log.filter((/** @type {{ type: string }} */ row) => row.type === 'WorkspaceRestored');
  check(restored.length === 5, `the log has ${restored.length} restores instead of 5`);
  check(restored.at(-1).ref === last.ref, 'the log ends with another restore');
  const { stats } = await holdfast(['materialize', last.ref, copy, '--home', home]);
  checkEqual(last.listing, listTree(copy), 'in the copy that the command made');
  check(existsSync(root), 'the root went with its session');
  step(
    `  the command shows ${log.length} events and materializes turn 2 elsewhere: ${stats.files} files, equal byte for byte`,
  );
}

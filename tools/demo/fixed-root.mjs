/**
 * First act: an exclusive session works in place on one directory, a copy of everything in this repository with its
 * installed packages. The files count: what a killed process left stays until somebody asks for something else.
 */
import { listTree } from '../oracle/oracle.mjs';
import {
  bytes,
  check,
  checkEqual,
  checkPlan,
  gone,
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
 * @param {string} root
 * @param {import('./theatre.mjs').OracleEntry[]} original
 */
export async function fixedRoot(home, root, original) {
  const agent = startAgent(['work', home, 'fixed', root]);
  const opened = await agent.next('opened');
  check(opened.trigger === 'baseline', 'the session did not begin with a checkpoint of what was there');
  checkEqual(original, listTree(root), 'after the session began');
  step(
    `  session ${opened.id} opened by process ${agent.pid} (epoch ${opened.epoch}); baseline ${short(opened.ref)} in ${ms(opened.ms)}`,
  );

  /** @type {{ turn: string, ref: string, listing: typeof original }[]} */
  const turns = [];
  for (let turn = 1; turn <= 3; turn += 1) {
    agent.say('turn');
    const done = await agent.next('turn');
    turns.push({ turn: done.turn, ref: done.ref, listing: listTree(root) });
    step(
      `  turn ${turn}: ${done.calls} tool calls; checkpoint ${short(done.ref)} read ${done.filesRead} files, stored ${bytes(done.bytesStored)}, ${ms(done.ms)}`,
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
  step(`  SIGKILL in the middle of turn 4; the command that it ran (process ${wreck.pid}) ended with it`);

  const takeover = performance.now();
  const second = startAgent(['resume', home, 'fixed', root, opened.id]);
  const resumed = await second.next('resumed');
  check(resumed.epoch > opened.epoch, 'the new epoch is not above the old one');
  check(resumed.interrupted === 1, 'the killed turn is not recorded as interrupted');
  check(resumed.drift?.recovered !== undefined, 'what the killed turn left was not recorded');
  checkEqual(wreckage, listTree(root), 'after the session was opened, although the files count');
  step(
    `  process ${second.pid} took the session over in ${since(takeover)} (epoch ${resumed.epoch}); what it found is recorded as ${short(resumed.drift.recovered)} and still there`,
  );
  step('  timeline:');
  showTimeline(resumed.timeline);

  second.say(`preview ${last.ref}`);
  const { plan } = await second.next('plan');
  const paths = checkPlan(plan, wreckage, last.listing);
  checkEqual(wreckage, listTree(root), 'after the preview, which writes nothing');
  step(
    `  preview of turn 3: ${planLine(plan)}; these ${paths} paths are the ones that the oracle finds different`,
  );

  second.say('restore');
  const { receipt } = await second.next('receipt');
  checkEqual(last.listing, listTree(root), 'after the restore');
  check(receipt.exact && receipt.verified !== 'none', 'the receipt does not claim a verified, exact result');
  step(
    `  restored in ${ms(receipt.durationMs)}: ${receipt.created} created, ${receipt.replaced} replaced, ${receipt.deleted} deleted, ${receipt.kept} kept; equal byte for byte`,
  );

  second.say(`rewind ${first.turn}`);
  const rewound = await second.next('receipt');
  checkEqual(first.listing, listTree(root), 'after the rewind to turn 1');
  step(
    `  files and conversation rewound to turn 1 in ${ms(rewound.receipt.durationMs)}: equal byte for byte`,
  );

  second.say('undo');
  const undone = await second.next('receipt');
  checkEqual(last.listing, listTree(root), 'after the undo of the rewind');
  step(`  undone in ${ms(undone.receipt.durationMs)}: turn 3 is back, byte for byte`);

  second.say('shutdown');
  await second.next('closed');
  await second.ended;
  return { id: opened.id, ref: last.ref };
}

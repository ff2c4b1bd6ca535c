// Permits for everything that touches one workspace: edits side by side, a checkpoint alone.
import assert from 'node:assert/strict';

import { Coordinator, parseCanonicalPath } from '@holdfast/coordinator';

const coordinator = new Coordinator();
/** @type {string[]} */
const log = [];
/** @param {string} name @param {Promise<void>} until */
async function edit(name, until) {
  const path = parseCanonicalPath(`/workspace/${name}`);
  const permit = await coordinator.acquire({ operation: 'path-mutation', path }, { holder: { loop: name } });
  log.push(`${name} begins`);
  await until;
  log.push(`${name} ends`);
  permit.release();
}

let finish = () => {};
/** @type {Promise<void>} */
const work = new Promise((resolve) => (finish = resolve));
const edits = [edit('a', work), edit('b', work)]; // disjoint paths: both at once
const checkpoint = coordinator.acquire({ operation: 'checkpoint' }).then((permit) => {
  log.push('checkpoint');
  return permit;
});
const late = edit('c', Promise.resolve()); // in order of arrival: after the checkpoint
finish();
await Promise.all(edits);
(await checkpoint).release();
await late;
assert.deepEqual(log.slice(0, 2), ['a begins', 'b begins']);
assert.deepEqual(log.slice(4), ['checkpoint', 'c begins', 'c ends']);

const caller = new AbortController();
const held = await coordinator.acquire({ operation: 'checkpoint' });
const waiting = coordinator.acquire({ operation: 'checkpoint' }, { signal: caller.signal });
caller.abort('changed my mind');
await assert.rejects(waiting, (reason) => reason === 'changed my mind');
held.release();

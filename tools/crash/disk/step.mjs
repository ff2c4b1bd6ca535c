/**
 * One step of a subject on a real disk, in a process of its own: `step.mjs STEP SUBJECT SEED DIRECTORY FACTS [AT MOUNT]`.
 * Facts are promised by appending to a file that is elsewhere. With `AT`, the disk is shut down just before that change
 * and the process ends; without, the number of changes is printed. `HOLDFAST_TRACE` names a file for the list of them.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

import { nodeFileSystem } from '@holdfast/durable';
import { ForwardingFileSystem, TracingFileSystem } from '@holdfast/durable/testing';

import { subjects } from '../subjects/index.mjs';
import { shutdownCommand } from './loop-disk.mjs';

/** @typedef {import('../subject.mjs').Fact} Fact */

const [step = '', name = '', seed = '', directory = '', factsFile = '', at = '0', mountPoint = ''] =
  process.argv.slice(2);

/** Takes the disk away at one change; a mistake of the protocol can be made as well, to see it found. */
class DoomedFileSystem extends ForwardingFileSystem {
  changes = 0;

  /** @type {ForwardingFileSystem['around']} */
  around(call, run) {
    if (call.changes) this.changes += 1;
    if (call.changes && this.changes === Number(at)) this.#end();
    if (call.operation === 'sync' && process.env['HOLDFAST_PLANTED'] === 'no-syncs')
      return /** @type {never} */ (undefined);
    return run();
  }

  #end() {
    const [command, ...args] = shutdownCommand(mountPoint);
    const { status } = spawnSync(command, args, { stdio: 'inherit' });
    if (status !== 0) process.exit(3);
    process.kill(process.pid, 'SIGKILL');
    // The signal is on its way.
    for (;;) continue;
  }
}

const subject = subjects.find((candidate) => candidate.name === name);
if (subject === undefined) throw new Error(`no subject ${name}`);
const text = existsSync(factsFile) ? readFileSync(factsFile, 'utf8') : '';
/** @type {Fact[]} */
const acked = text
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line));
const promises = {
  acked,
  ack: (/** @type {Fact} */ fact) => {
    acked.push(fact);
    appendFileSync(factsFile, `${JSON.stringify(fact)}\n`);
  },
};
const trace = new TracingFileSystem(nodeFileSystem());
const fileSystem = new DoomedFileSystem(trace);
const place = { fileSystem, directory, seed: Number(seed) };
if (step === 'setup') await subject.setup?.(place);
else if (step === 'run') await subject.run(place, promises);
else {
  await subject.recover?.(place, promises);
  await subject.check(place, { acked, finished: false });
}
const traceFile = process.env['HOLDFAST_TRACE'];
if (traceFile !== undefined) writeFileSync(traceFile, JSON.stringify(trace.changes(directory)));
console.log(fileSystem.changes);

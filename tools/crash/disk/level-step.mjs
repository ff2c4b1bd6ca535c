/**
 * A session in a `level` database, in a process of its own: `level-step.mjs run DIRECTORY FACTS ACKS [MOUNT]` appends, and
 * after so many acknowledgements, with further appends under way, shuts the disk down (or, without `MOUNT`, does not) and
 * ends by SIGKILL. `level-step.mjs check DIRECTORY FACTS` opens what is left. Facts are lines in a file that is elsewhere.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';

import { memoryBlobs } from '@holdfast/blobs';
import { SessionStore } from '@holdfast/journal';
import { memoryLeaser } from '@holdfast/lease';
import { openLevelLedgers } from '@holdfast/level';

import { shutdownCommand } from './loop-disk.mjs';

const [step = '', directory = '', factsFile = '', acks = '0', mountPoint] = process.argv.slice(2);
const id = 'session-0001';

async function openStore() {
  const ledgers = await openLevelLedgers(directory);
  return await SessionStore.open({ ledgers, leaser: memoryLeaser(), blobs: memoryBlobs() });
}

async function run() {
  const store = await openStore();
  const journal = await store.create({ id });
  let done = 0;
  const end = () => {
    if (mountPoint !== undefined) {
      // Nothing may be promised meanwhile: a sync that ext4 is asked for while it is shut down may report a success that is none.
      const [command, ...args] = shutdownCommand(mountPoint);
      if (spawnSync(command, args, { stdio: 'inherit' }).status !== 0) process.exit(3);
    }
    process.kill(process.pid, 'SIGKILL');
    // The signal is on its way.
    for (;;) continue;
  };
  /** @param {number} index */
  const append = async (index) => {
    const name = `n${index}`;
    const { seq } = await journal.append({
      type: 'note',
      id: name,
      body: { index, text: 'x'.repeat(index % 900) },
    });
    appendFileSync(factsFile, `${JSON.stringify([name, seq])}\n`);
    done += 1;
    if (done === Number(acks)) end();
  };
  // Several under way at a time, so that the end comes in the middle of a write.
  for (let index = 0; ; index += 4)
    await Promise.all([0, 1, 2, 3].map(async (offset) => await append(index + offset)));
}

async function check() {
  const store = await openStore();
  const journal = await store.open(id);
  /** @type {Map<string, number>} */
  const places = new Map();
  for await (const event of journal.events()) {
    assert.ok(!places.has(event.id), `${event.id} stands twice`);
    places.set(event.id, event.seq);
  }
  const facts = readFileSync(factsFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  for (const fact of facts) {
    /** @type {[string, number]} */
    const [name, seq] = JSON.parse(fact);
    assert.equal(places.get(name), seq, `event ${name}`);
  }
  await journal.verify();
  await journal.append({ type: 'note', id: 'after', body: {} });
  await journal.close();
  await store.close();
  console.log(facts.length);
}

await (step === 'run' ? run() : check());

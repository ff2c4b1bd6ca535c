/**
 * The processes of the demo: an agent that works in a session until it is killed, and one that takes the session over.
 * Speaks JSON lines on standard output and takes one word a line on standard input.
 *
 *   node agent.mjs work HOME ROOT
 *   node agent.mjs resume HOME ROOT ID
 */
import { appendFile, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { defineRig, exclusiveWorkspace } from '@holdfast/rig';
import { defineLoop } from '@holdfast/session';
import { openLocal } from 'holdfast';

const [mode, home, root, id] = process.argv.slice(2);
const words = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (kind, facts = {}) => process.stdout.write(`${JSON.stringify({ kind, ...facts })}\n`);
const nextWord = async () => (await words.next()).value;

const assistant = defineLoop({
  name: 'assistant',
  // A scripted agent: what a model would decide is written down here; the edits are real.
  turn: async ({ input, step }) =>
    await step(async () => (input.wreck === true ? await wreck() : await edits(input.turn))),
});

const local = await openLocal(home);
const rig = defineRig(local.fragment, {
  loops: [assistant],
  workspace: exclusiveWorkspace(local.store, root, local.leaser),
  snapshots: { trigger: 'turn-done', priority: 'required' },
});

if (mode === 'work') await work();
else await resume();

async function work() {
  const started = performance.now();
  const controller = await rig.newSession({ title: 'demo' });
  const [baseline] = await controller.checkpoints();
  tell('opened', {
    id: controller.id,
    epoch: await epochOf(controller),
    ref: baseline.ref,
    ms: performance.now() - started,
  });
  for (let turn = 1; ; turn += 1) {
    const word = await nextWord();
    const asked = performance.now();
    const submission = await controller.submit(word === 'wreck' ? { turn, wreck: true } : { turn });
    const outcome = await submission.outcome;
    if (outcome.status !== 'done') throw outcome.error;
    const checkpoint = (await controller.checkpoints()).at(-1);
    const { filesRead, bytesStored } = await statsOf(controller, checkpoint.ref);
    tell('turn', {
      ref: checkpoint.ref,
      edits: outcome.output.edits,
      filesRead,
      bytesStored,
      ms: performance.now() - asked,
    });
  }
}

async function resume() {
  const controller = await rig.openSession(id);
  const timeline = [];
  let recovered;
  let current;
  let interrupted = 0;
  for await (const { seq, time, type, body } of controller.events()) {
    if (/^(Workspace|Turn|Session(?:Started|Restored))/.test(type)) {
      timeline.push({ seq, time, type, trigger: body.trigger, ref: body.ref });
    }
    if (type === 'WorkspaceCheckpointed' && body.trigger === 'recovered') recovered = body.ref;
    if (type === 'WorkspaceCheckpointed' || type === 'WorkspaceRestored') current = body.ref;
    if (type === 'TurnInterrupted') interrupted += 1;
  }
  tell('resumed', { epoch: await epochOf(controller), timeline, recovered, current, interrupted });
  let ref;
  let plan;
  for (;;) {
    const [word, argument] = (await nextWord()).split(' ');
    if (word === 'preview') {
      ref = argument;
      plan = await controller.previewRestore(ref, { prune: 'exact' });
      tell('plan', { plan });
    } else if (word === 'restore') {
      tell('receipt', { receipt: await controller.restoreWorkspace(ref, { plan, prune: 'exact' }) });
    } else if (word === 'undo') {
      tell('receipt', { receipt: await controller.undo({ prune: 'exact' }) });
    } else {
      await controller.shutdown();
      await local.close();
      tell('closed');
      process.stdin.destroy();
      return;
    }
  }
}

async function edits(turn) {
  const notes = path.join(root, 'notes', `turn-${turn}`);
  await mkdir(notes, { recursive: true });
  for (let index = 0; index < 5; index += 1)
    await writeFile(path.join(notes, `${index}.md`), `turn ${turn}, note ${index}\n`);
  await appendFile(path.join(root, 'README.md'), `\nEdited in turn ${turn}.\n`);
  const manifest = path.join(root, 'package.json');
  const text = await readFile(manifest, 'utf8');
  await writeFile(`${manifest}.new`, text.replace('{', `{\n  "turn": ${turn},`));
  await rename(`${manifest}.new`, manifest);
  if (turn > 1) await rm(path.join(root, 'notes', `turn-${turn - 1}`, '0.md'));
  return { edits: turn > 1 ? 8 : 7 };
}

/** Deletes, truncates and half-writes until it is killed. */
async function wreck() {
  await rm(path.join(root, 'LICENSE'), { force: true });
  await rm(path.join(root, 'docs'), { recursive: true, force: true });
  await mkdir(path.join(root, 'half-done'));
  const [name] = (await readdir(root)).filter((entry) => entry.endsWith('.json'));
  const file = await open(path.join(root, name), 'w');
  await file.write('{ "half": ');
  tell('editing', { file: name });
  for (let index = 0; ; index += 1) {
    await writeFile(path.join(root, 'half-done', `${index % 50}.txt`), 'x'.repeat(10_000));
  }
}

async function epochOf(controller) {
  let epoch = 0;
  for await (const event of controller.events()) epoch = event.epoch;
  return epoch;
}

async function statsOf(controller, ref) {
  let stats;
  for await (const event of controller.events()) {
    if (event.type === 'WorkspaceCheckpointed' && event.body.ref === ref) stats = event.body.stats;
  }
  return stats;
}

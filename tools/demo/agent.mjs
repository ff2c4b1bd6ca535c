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
import { openLocal, parseRef } from 'holdfast';

const [mode, home, root, id] = /** @type {[string, string, string, string]} */ (process.argv.slice(2));
const words = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** @type {(kind: string, facts?: object) => void} */
const tell = (kind, facts = {}) => {
  process.stdout.write(`${JSON.stringify({ kind, ...facts })}\n`);
};
const nextWord = async () => String((await words.next()).value);

const assistant = defineLoop({
  name: 'assistant',
  // A scripted agent: what a model would decide is written down here; the edits are real.
  turn: async (
    /** @type {import('@holdfast/session').TurnContext<{ turn: number, wreck?: boolean }>} */ { input, step },
  ) => await step(async () => (input.wreck === true ? await wreck() : await edits(input.turn))),
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
  const baseline = known((await controller.checkpoints())[0]);
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
    if (outcome.status !== 'done') throw new Error(`turn ${turn} was ${outcome.status}`);
    const { edits: done } = /** @type {{ edits: number }} */ (outcome.output);
    const checkpoint = known((await controller.checkpoints()).at(-1));
    const { filesRead, bytesStored } = await statsOf(controller, checkpoint.ref);
    tell('turn', {
      ref: checkpoint.ref,
      edits: done,
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
  for await (const event of controller.events()) {
    const { seq, time, type } = event;
    if (!/^(Workspace|Turn|Session(?:Started|Restored))/.test(type)) continue;
    const { trigger, ref: named } = /** @type {{ trigger?: string, ref?: string }} */ (event.body);
    timeline.push({ seq, time, type, trigger, ref: named });
    if (trigger === 'recovered') recovered = named;
    if (named !== undefined) current = named;
    if (type === 'TurnInterrupted') interrupted += 1;
  }
  tell('resumed', { epoch: await epochOf(controller), timeline, recovered, current, interrupted });
  /** @type {import('holdfast').Ref | undefined} */
  let ref;
  let plan;
  for (;;) {
    const [word, argument] = (await nextWord()).split(' ');
    if (word === 'preview') {
      ref = parseRef(argument);
      plan = await controller.previewRestore(ref, { prune: 'exact' });
      tell('plan', { plan });
    } else if (word === 'restore') {
      tell('receipt', { receipt: await controller.restoreWorkspace(known(ref), { plan, prune: 'exact' }) });
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

/** @param {number} turn */
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
  const name = known((await readdir(root)).find((entry) => entry.endsWith('.json')));
  const file = await open(path.join(root, name), 'w');
  await file.write('{ "half": ');
  tell('editing', { file: name });
  for (let index = 0; ; index += 1) {
    await writeFile(path.join(root, 'half-done', `${index % 50}.txt`), 'x'.repeat(10_000));
  }
}

/** @param {import('holdfast').SessionController} controller */
async function epochOf(controller) {
  let epoch = 0;
  for await (const event of controller.events()) epoch = event.epoch;
  return epoch;
}

/**
 * @param {import('holdfast').SessionController} controller
 * @param {string} ref
 */
async function statsOf(controller, ref) {
  let stats;
  for await (const event of controller.events()) {
    if (event.type === 'WorkspaceCheckpointed' && event.body.ref === ref) stats = event.body.stats;
  }
  return known(stats);
}

/**
 * @template T
 * @param {T | undefined} value
 * @returns {T}
 */
function known(value) {
  if (value === undefined) throw new Error('the demo lacks what it needs');
  return value;
}

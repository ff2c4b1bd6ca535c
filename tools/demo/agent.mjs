/**
 * The processes of the demo: an agent that works in a session until it is killed, and one that takes the session over.
 * Speaks JSON lines on standard output and takes one line of words at a time on standard input.
 *
 *   node agent.mjs work HOME fixed ROOT            an exclusive session on one directory
 *   node agent.mjs work HOME own BASE SEED         a session with a root of its own below BASE, seeded
 *   node agent.mjs resume HOME fixed|own PLACE ID
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

import {
  defineLoop,
  defineRig,
  exclusiveWorkspace,
  openLocal,
  parseRef,
  sessionWorkspaces,
  workspaceTools,
} from 'holdfast';

/** @typedef {import('holdfast').WorkspaceTools} Tools */
/** @typedef {import('@holdfast/session').BoundTools<Tools>} BoundTools */
/** @typedef {{ turn: number, wreck?: boolean }} Input */

const [mode, home, placement, place, last] = /** @type {[string, string, string, string, string]} */ (
  process.argv.slice(2)
);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** @type {(kind: string, facts?: object) => void} */
const tell = (kind, facts = {}) => {
  process.stdout.write(`${JSON.stringify({ kind, ...facts })}\n`);
};
const nextWords = async () => String((await lines.next()).value).split(' ');

/** The second act begins with the files of the first: each makes files of its own. */
const [notes, made] = [`notes-${placement}`, `made-${placement}`];

/** What the edits need; made in a tree that has no such files. */
const starters = {
  'README.md': '# A project\n\nIt has nothing to read yet, which is soon to change.\n',
  'package.json': '{\n  "private": true\n}\n',
};

// A scripted agent: what a model would decide is written down here; the tools and what they do to the files are real.
const assistant = defineLoop({
  name: 'assistant',
  tools: workspaceTools(),
  turn: async (
    /** @type {import('@holdfast/session').TurnContext<Input, Tools>} */ { input, session, step, tools },
  ) =>
    await step(async (signal) => {
      if (input.wreck !== true) return await edits(input.turn, tools, signal);
      return await wreck(known(rig.rootOf(session.id)), tools, signal);
    }),
});

const local = await openLocal(home);
/** @type {import('holdfast').Rig} */
const rig = defineRig(local.fragment, {
  loops: [assistant],
  primers: ['assistant'],
  workspace:
    placement === 'own'
      ? sessionWorkspaces(local.store, place)
      : exclusiveWorkspace(local.store, place, local.leaser),
  snapshots: { trigger: 'turn-done', priority: 'required' },
});

if (mode === 'work') await work();
else await resume(await rig.openSession(last));

async function work() {
  const started = performance.now();
  const seed = placement === 'own' ? parseRef(last) : undefined;
  const controller = await rig.newSession({ title: 'demo', seed });
  const { ref, trigger } = known((await controller.checkpoints())[0]);
  const { epoch } = await read(controller);
  const root = known(rig.rootOf(controller.id));
  tell('opened', { id: controller.id, root, epoch, ref, trigger, ms: performance.now() - started });
  for (let turn = 1; ; turn += 1) {
    const [word] = await nextWords();
    const asked = performance.now();
    const submission = await controller.submit(word === 'wreck' ? { turn, wreck: true } : { turn });
    const outcome = await submission.outcome;
    if (outcome.status !== 'done') {
      const cause = outcome.status === 'failed' ? outcome.error : outcome.reason;
      throw new Error(`turn ${turn} was ${outcome.status}`, { cause });
    }
    // The turn ended when its required checkpoint was durable.
    const checkpoint = known((await controller.checkpoints()).at(-1));
    const { filesRead, bytesStored } = known((await read(controller)).stats);
    const facts = { turn: submission.turn, ref: checkpoint.ref, filesRead, bytesStored };
    tell('turn', { ...facts, calls: outcome.output, ms: performance.now() - asked });
  }
}

/** @param {import('holdfast').OpenedSession} controller */
async function resume(controller) {
  const { timeline, epoch } = await read(controller);
  const { drift, interruptedTurns } = controller.opening;
  tell('resumed', { epoch, timeline, interrupted: interruptedTurns.length, drift });
  /** @type {import('holdfast').Ref | undefined} */
  let ref;
  let plan;
  const exact = /** @type {const} */ ({ prune: 'exact' });
  for (;;) {
    const [word, argument = ''] = await nextWords();
    if (word === 'preview') {
      ref = parseRef(argument);
      plan = await controller.previewRestore(ref, exact);
      tell('plan', { plan });
    } else if (word === 'restore') {
      tell('receipt', { receipt: await controller.restoreWorkspace(known(ref), { plan, ...exact }) });
    } else if (word === 'rewind') {
      tell('receipt', { receipt: await controller.rewindTo(argument, exact) });
    } else if (word === 'undo') {
      tell('receipt', { receipt: await controller.undo(exact) });
    } else {
      await controller.shutdown();
      await local.close();
      tell('closed');
      process.stdin.destroy();
      return;
    }
  }
}

/**
 * @param {number} turn
 * @param {BoundTools} tools
 * @param {AbortSignal} signal
 */
async function edits(turn, tools, signal) {
  const call = { signal };
  let calls = 0;
  /** @type {<T>(result: Promise<T>) => Promise<T>} */
  const counted = async (result) => {
    calls += 1;
    return await result;
  };
  const { entries } = await counted(tools.list.call({}, call));
  for (const [path, content] of Object.entries(starters)) {
    if (!entries.some((entry) => entry.path === path))
      await counted(tools.write.call({ path, content }, call));
  }
  for (let index = 0; index < 5; index += 1) {
    const content = `turn ${turn}, note ${index}\n`;
    await counted(tools.write.call({ path: `${notes}/turn-${turn}/${index}.md`, content }, call));
  }
  const { content: readme } = await counted(tools.read.call({ path: 'README.md' }, call));
  const beginning = readme.slice(0, 60);
  const newText = `Edited in turn ${turn}.\n\n${beginning}`;
  await counted(tools.edit.call({ path: 'README.md', oldText: beginning, newText }, call));
  const { content: manifest } = await counted(tools.read.call({ path: 'package.json' }, call));
  const content = manifest.replace('{', `{\n  "turn": ${turn},`);
  await counted(tools.write.call({ path: 'package.json', content }, call));
  const { matches } = await counted(tools.search.call({ pattern: `"turn": ${turn},` }, call));
  if (matches.length === 0) throw new Error('the agent does not find what it has just written');
  const commands = [
    `mkdir -p ${made}/empty-${turn} && cp README.md ${made}/copy-${turn} && chmod 600 ${made}/copy-${turn}`,
    `ln -s ../README.md ${made}/link-${turn} && mv ${notes}/turn-${turn}/4.md ${notes}/moved-${turn}.md`,
    ...(turn > 1 ? [`rm -r ${notes}/turn-${turn - 1}`] : []),
  ];
  const { exitCode, stderr } = await counted(tools.shell.call({ command: commands.join(' && ') }, call));
  if (exitCode !== 0) throw new Error(`the agent's command failed: ${stderr}`);
  return calls;
}

/**
 * Deletes, truncates and half-writes through a command that ends only when this process is killed.
 * @param {string} root
 * @param {BoundTools} tools
 * @param {AbortSignal} signal
 */
async function wreck(root, tools, signal) {
  const command = [
    'mkdir half-done && echo $$ > half-done/pid',
    `rm -rf LICENSE docs ${notes} && printf '{ "half": ' > package.json`,
    'i=0; while :; do head -c 10000 /dev/zero > half-done/$((i % 50)); i=$((i + 1)); done',
  ].join('\n');
  const running = tools.shell.call({ command }, { signal });
  const inMidEdit = path.join(root, 'half-done', '9');
  while (!existsSync(inMidEdit)) await Promise.race([running, pause()]);
  const pid = Number(readFileSync(path.join(root, 'half-done', 'pid'), 'utf8'));
  tell('editing', { pid });
  await running;
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/**
 * What the journal tells: its timeline, its newest epoch, and the numbers of its newest checkpoint.
 * @param {import('holdfast').SessionController} controller
 */
async function read(controller) {
  const timeline = [];
  let epoch = 0;
  let stats;
  for await (const event of controller.events()) {
    epoch = event.epoch;
    if (event.type === 'WorkspaceCheckpointed') stats = event.body.stats;
    const { seq, time, type } = event;
    if (!/^(Workspace|Turn|Session(?:Started|Restored))/.test(type)) continue;
    const { trigger, ref } = /** @type {{ trigger?: string, ref?: string }} */ (event.body);
    timeline.push({ seq, time, type, trigger, ref });
  }
  return { timeline, epoch, stats };
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

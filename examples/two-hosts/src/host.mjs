// One host: a directory of its own, a cache of its own, and the engines that all share. Reports by lines of JSON, and takes
// words on its standard input. Arguments: engine, directory of the host, session, "new" or "open".
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { SessionStore } from '@holdfast/journal';
import { defineRig, sessionWorkspaces } from '@holdfast/rig';
import { defineLoop } from '@holdfast/session';
import { WorkspaceStore } from '@holdfast/workspacestore';

import { openEngines } from './engines.mjs';

const [engine = '', directory = '', id = '', how = ''] = process.argv.slice(2);
/** @param {object} message */
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const engines = await openEngines(engine === 'nats' ? 'nats' : 'postgres');
const store = await WorkspaceStore.open(engines.blobs);
const sessionStore = await SessionStore.open(engines);
const base = path.join(directory, 'roots');
mkdirSync(base, { recursive: true });
const root = path.join(base, id);

// The agent: every turn writes ten files and counts in one.
const assistant = defineLoop({
  name: 'assistant',
  turn: async ({ input }) => {
    const turn = typeof input === 'string' ? input : '';
    mkdirSync(path.join(root, 'work'), { recursive: true });
    for (let at = 0; at < 10; at += 1)
      writeFileSync(path.join(root, 'work', `file-${at}.txt`), `turn ${turn}, file ${at}\n`);
    writeFileSync(path.join(root, 'count.txt'), turn);
  },
});
const rig = defineRig({
  loops: [assistant],
  primers: ['assistant'],
  sessionStore,
  workspace: sessionWorkspaces(store, base),
  snapshots: { trigger: 'turn-done', priority: 'required' },
});

const started = performance.now();
const session = how === 'new' ? await rig.newSession({ id }) : await open();
const count = () => Number(readFileSync(path.join(root, 'count.txt'), 'utf8'));
say({ ready: true, milliseconds: performance.now() - started, count: how === 'new' ? 0 : count() });

/** Waits for the former owner's time to run out, if it has to. */
async function open() {
  for (;;) {
    try {
      return await rig.openSession(id, { relocate: true });
    } catch (error) {
      if (codeOf(error) !== 'LEASE_HELD') throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** @param {number | string} turn Resolves when its checkpoint is durable. */
async function work(turn) {
  const { outcome } = await session.submit(String(turn));
  await outcome;
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {{ code?: unknown } | undefined} */ (error)?.code;
}

/** @param {() => Promise<unknown>} attempt */
async function outcomeOf(attempt) {
  try {
    await attempt();
    return 'done';
  } catch (error) {
    return String(codeOf(error) ?? error);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [word, number] = line.split(' ');
  if (word === 'work') {
    for (let turn = 1; turn <= Number(number); turn += 1) {
      await work(turn);
      say({ turn });
    }
  } else if (word === 'work-on') {
    for (let turn = Number(number); ; turn += 1) {
      await work(turn);
      say({ turn });
    }
  } else if (word === 'try-everything') {
    // What a host does that was stopped, and does not know yet that another one has the session.
    const ref = (await session.checkpoints()).at(-1)?.ref;
    const outcomes = {
      turn: await outcomeOf(async () => await work('after the take-over')),
      checkpoint: await outcomeOf(async () => await session.checkpointWorkspace()),
      restore: await outcomeOf(async () => await session.restoreWorkspace(/** @type {any} */ (ref))),
      release: await outcomeOf(async () => await session.shutdown()),
    };
    say({ tried: outcomes });
  } else if (word === 'leave') {
    await session.shutdown();
    await sessionStore.close();
    await engines.close();
    say({ left: true });
    break;
  }
}

import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { SessionStore } from '@holdfast/journal';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { defineLoop, defineRig, type Rig, sessionWorkspaces, workspaceTools } from 'holdfast';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';

import { openEngines } from '../../../../examples/two-hosts/src/engines.mjs';
import { makeBucket } from '../../../../examples/two-hosts/src/two-hosts.mjs';
import { everythingIn } from '../../../../tools/engines/outcomes.mjs';
import { controlService, serviceVariable } from '../../../../tools/services/control.mjs';
import { temporaryDirectory } from '../run-command.js';

/** A session whose engines are killed in the middle of its work, and come back. */

const bucket = `outages-${randomBytes(6).toString('hex')}`;
const password = 'hunter2-Secret';
let temporary: ReturnType<typeof temporaryDirectory>;
beforeAll(async () => {
  await makeBucket(bucket);
});
beforeEach(() => {
  temporary = temporaryDirectory();
});
afterEach(() => {
  temporary[Symbol.dispose]();
});

interface Host extends AsyncDisposable {
  readonly rig: Rig;
  readonly sessionStore: SessionStore;
}

async function openHost(engine: 'postgres' | 'nats', name: string, host: string): Promise<Host> {
  const database = new URL(serviceVariable('HOLDFAST_POSTGRES_URL'));
  database.password = password;
  const engines = await openEngines(engine, {
    ...process.env,
    HOLDFAST_POSTGRES_URL: database.href,
    TWO_HOSTS_BUCKET: bucket,
    TWO_HOSTS_PREFIX: name,
    TWO_HOSTS_NAME: name,
  });
  const base = path.join(temporary.path, host);
  mkdirSync(base, { recursive: true });
  const sessionStore = await SessionStore.open(engines);
  const store = await WorkspaceStore.open(engines.blobs);
  const agent = defineLoop({
    name: 'agent',
    tools: workspaceTools(),
    turn: async ({ input, step, tools }) =>
      await step(async (signal) => {
        // A session that was opened again has not seen the file yet, and does not write over what it has not seen.
        await tools.read.call({ path: 'count.txt' }, { signal }).catch(() => undefined);
        await tools.write.call({ path: 'count.txt', content: input as string }, { signal });
      }),
  });
  const rig = defineRig({
    loops: [agent],
    primers: ['agent'],
    sessionStore,
    workspace: sessionWorkspaces(store, base),
    snapshots: { trigger: 'turn-done', priority: 'required' },
  });
  return {
    rig,
    sessionStore,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await sessionStore.close();
      await engines.close();
    },
  };
}

/** Tries until it succeeds; what failed before is kept. */
async function eventually<T>(failures: unknown[], work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      failures.push(error);
      if (tries === 100) throw error;
      await sleep(100);
    }
  }
}

test.each([
  ['s3', 'postgres'],
  ['postgres', 'postgres'],
  ['s3', 'nats'],
  ['nats', 'nats'],
] as const)(
  'an outage of %s under %s: what was acknowledged stays, nobody has to help, no secret shows',
  async (service, engine) => {
    const name = `outage_${randomBytes(6).toString('hex')}`;
    const failures: unknown[] = [];
    let turn = 0;
    let acknowledged = 0;
    let id: string;
    {
      await using host = await openHost(engine, name, 'a');
      let session = await host.rig.newSession({});
      ({ id } = session);
      session.observe((notice) => {
        // Whatever observers are told is looked at for secrets too.
        failures.push(notice);
      });
      const attempt = async (): Promise<boolean> => {
        turn += 1;
        try {
          const { outcome } = await session.submit(String(turn));
          const result = await outcome;
          if (result.status === 'done') acknowledged = turn;
          else failures.push(result);
        } catch (error) {
          failures.push(error);
        }
        return acknowledged === turn;
      };
      for (let before = 0; before < 3; before += 1) expect(await attempt()).toBe(true);

      await controlService(service, 'kill');
      try {
        let failed = false;
        for (let during = 0; during < 20 && !failed; during += 1) failed = !(await attempt());
        expect(failed).toBe(true);
      } finally {
        await controlService(service, 'restart');
      }

      // What a program does: go on, or settle what a failed checkpoint left, or open the session again.
      await eventually(failures, async () => {
        if (await attempt()) return;
        const settled = await session.checkpointWorkspace().then(
          () => true,
          (error: unknown) => failures.push(error) < 0,
        );
        if (settled && (await attempt())) return;
        await session.shutdown().catch((error: unknown) => failures.push(error));
        session = await host.rig.openSession(id);
        throw new Error('opened again: the next attempt tells');
      });
      for (let after = 0; after < 2; after += 1) expect(await attempt()).toBe(true);
      await session.shutdown();
      const view = await host.sessionStore.read(id);
      await view.verify();
      await view.close();
    }

    // Another host has only what the engines keep.
    await using other = await openHost(engine, name, 'b');
    const session = await eventually(
      failures,
      async () => await other.rig.openSession(id, { relocate: true }),
    );
    const root = other.rig.rootOf(id) as string;
    expect(readFileSync(path.join(root, 'count.txt'), 'utf8')).toBe(String(acknowledged));
    await session.shutdown();

    expect(failures.length).toBeGreaterThan(0);
    const secrets = [password, serviceVariable('HOLDFAST_S3_SECRET_ACCESS_KEY')];
    for (const failure of failures)
      for (const secret of secrets) expect(everythingIn(failure)).not.toContain(secret);
  },
);

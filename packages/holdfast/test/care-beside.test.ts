import { openLocal } from 'holdfast';
import { expect, it } from 'vitest';

import { temporaryDirectory } from './run-command.js';

/** Whoever cares for a home works beside others, who begin and delete sessions. */

it('a home whose sessions come and go is collected, listed and asked for what it needs meanwhile', async () => {
  using temporary = temporaryDirectory();
  await using owner = await openLocal(temporary.path);
  await using keeper = await openLocal(temporary.path);
  await (await owner.sessions.create({ id: 'session-kept' })).close();
  const ended = new AbortController();
  const comeAndGo = async (): Promise<void> => {
    try {
      for (let round = 0; round < 12; round += 1) {
        const journal = await owner.sessions.create();
        await journal.close();
        await owner.sessions.delete(journal.id);
      }
    } finally {
      ended.abort();
    }
  };
  const problems: unknown[] = [];
  const care = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await keeper.collect();
      await keeper.collect({ retention: { keepLast: 1 } });
      for await (const { id, problem } of keeper.sessions.list()) {
        // Of one that is being created nothing is known yet.
        if (problem !== undefined && problem !== 'JOURNAL_IN_USE') problems.push(id, problem);
      }
      for await (const required of keeper.requiredRefs()) if ('problem' in required) problems.push(required);
    }
  };
  const outcomes = await Promise.allSettled([comeAndGo(), care()]);
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  expect(problems).toEqual([]);
  // Nothing that is gone is missed afterwards.
  expect(await keeper.collect()).toMatchObject({ missing: [] });
});

it('the first imports of a home take turns like later ones', async () => {
  using temporary = temporaryDirectory();
  await using one = await openLocal(temporary.path);
  await using other = await openLocal(temporary.path);
  const empty = async function* () {
    yield await Promise.resolve(new Uint8Array(1024));
  };
  const results = await Promise.all([one, other, one, other].map((local) => local.importTar(empty())));
  expect(new Set(results.map(({ ref }) => ref)).size).toBe(1);
});

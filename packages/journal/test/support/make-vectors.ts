import { seededRandom } from '@holdfast/base/testing';
import { SessionStore } from '@holdfast/journal';

import { checkpointBody, collect, refOf, World } from './world.js';

/** What the vectors hold: stored bytes as text, and what they mean. */
export interface JournalVectors {
  readonly session: string;
  readonly records: readonly string[];
  readonly refs: string;
  readonly summary: string;
  readonly bodies: Readonly<Record<string, string>>;
  readonly events: readonly unknown[];
  readonly fold: unknown;
}

const session = 'session-0001';

/** Writes a small journal with every kind of record, from a fixed clock and fixed randomness. */
export async function makeVectors(): Promise<JournalVectors> {
  const world = new World({ seed: 7 });
  const { blobs, clock } = world;
  const random = seededRandom(7);
  const store = await SessionStore.open({
    ledgers: world.ledgers(),
    leaser: world.leaser(),
    blobs,
    clock,
    random,
  });
  const first = await store.create({ id: session, title: 'vectors ✓', owner: { pid: 1 } });
  await first.append({
    type: 'SessionStarted',
    id: 'started',
    body: { placement: { mode: 'shared', root: '/w' } },
  });
  await first.append({
    type: 'note',
    id: 'n',
    loop: 'l',
    time: 5,
    body: JSON.parse('{"__proto__":1,"a":-0,"A":"\\ud800"}') as object as never,
  });
  await first.append({ type: 'WorkspaceCheckpointed', id: 'c', body: checkpointBody(refOf(1)) });
  await first.append({ type: 'note', id: 'large', body: 'x'.repeat(524_300) });
  await clock.advance(1_500);
  await first.close();
  const second = await store.open(session);
  await second.appendPrivate({
    type: 'restore-started',
    id: 's',
    body: { restoreId: 'r', ref: refOf(1), previousRef: refOf(1), safetyRef: null, strategy: 'swap' },
  });
  await second.append({ type: 'WorkspaceRestored', id: 'r', body: { ref: refOf(1) } });
  // As many small ones as make an index record due, which is the last record.
  const missing = 1_024 - second.tip;
  await Promise.all(
    Array.from({ length: missing }, (_, index) =>
      second.append({ type: 'note', id: `f${index}`, body: index }),
    ),
  );
  await second.close();
  const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);
  const records = world.stored(session).map(text);
  const kept = new Set([
    ...Array.from({ length: 12 }, (_, index) => index + 1),
    records.length - 1,
    records.length,
  ]);
  const bodies: Record<string, string> = {};
  for (const { key, size } of await collect(blobs.list())) bodies[key] = `${size} bytes`;
  const view = await store.read(session);
  const events = (await collect(view.events({ to: 12 }))).map((event) =>
    event.id === 'large' ? { ...event, body: 'large' } : event,
  );
  const { fold } = view;
  await view.close();
  return {
    session,
    records: records.filter((_, index) => kept.has(index + 1)),
    refs: text(world.storage.notes.get(`${session}/refs`)),
    summary: text(world.storage.notes.get(`${session}/summary`)),
    bodies,
    events: JSON.parse(JSON.stringify(events)) as unknown[],
    fold: JSON.parse(JSON.stringify(fold)) as unknown,
  };
}

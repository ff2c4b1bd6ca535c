import { seededRandom } from '@holdfast/base/testing';
import { memoryBlobs } from '@holdfast/blobs';
import {
  AmbiguousSessionIdError,
  decodeRefsNote,
  encodeRefsNote,
  InvalidSessionIdError,
  JournalClosedError,
  JournalCorruptError,
  memoryLedger,
  memorySessionLedgers,
  newSessionId,
  parseSessionId,
  SessionExistsError,
  SessionNotFoundError,
  SessionStore,
  sharedSessionLedgers,
} from '@holdfast/journal';
import { LeaseHeldError, memoryLeaser } from '@holdfast/lease';
import { describe, expect, it } from 'vitest';

import { checkpointBody, collect, eventsOf, failureOf, refOf, World } from './support/world.js';

describe('session ids', () => {
  it('are 8 to 64 of a-z, 0-9 and -, beginning with a letter or digit', () => {
    for (const id of ['abcdefgh', '01234567', 'a-------', 'x'.repeat(64)])
      expect(parseSessionId(id)).toBe(id);
    for (const id of [
      'short',
      'x'.repeat(65),
      '-abcdefgh',
      'Abcdefgh',
      'abc_defgh',
      'abc.defgh',
      'äbcdefgh',
      '',
      7,
      undefined,
    ]) {
      expect(() => parseSessionId(id)).toThrow(InvalidSessionIdError);
    }
  });

  it('sort by creation time and differ', () => {
    const random = seededRandom(1);
    const times = [0, 1, 999, 1_700_000_000_000, 1_700_000_000_001, 4_000_000_000_000];
    const ids = times.map((time) => newSessionId(time, random));
    expect(ids.toSorted()).toEqual(ids);
    for (const id of ids) expect(parseSessionId(id)).toHaveLength(26);
    expect(new Set(Array.from({ length: 1_000 }, () => newSessionId(5, random))).size).toBe(1_000);
  });
});

describe.each([
  ['with notes', true],
  ['without notes', false],
] as const)('a session store %s', (_, notes) => {
  const id = 'session-0001';

  it('creates, opens, lists, reads and deletes', async () => {
    const world = new World({ notes });
    const store = await world.store();
    const journal = await store.create({ id, title: 'first', owner: { pid: 7 } });
    await journal.append({ type: 'SessionStarted', body: {} });
    await journal.append({ type: 'WorkspaceCheckpointed', id: 'c1', body: checkpointBody(refOf(1)) });
    await journal.append({ type: 'note', body: 'x'.repeat(600_000) });
    await journal.setTitle('second');
    await journal.close();
    expect(await collect(store.list())).toEqual([
      {
        id,
        title: 'second',
        createdAt: world.clock.now(),
        lastActive: world.clock.now(),
        state: 'idle',
        lastCheckpoint: {
          ref: refOf(1),
          eventId: 'c1',
          seq: 4,
          consistency: 'quiescent',
          trigger: 'manual',
          time: world.clock.now(),
        },
        currentWorkspace: { ref: refOf(1), eventId: 'c1', seq: 4, source: 'checkpoint' },
      },
    ]);
    expect(await collect(store.refs(id))).toEqual([refOf(1)]);
    const again = await store.open(id);
    expect((await eventsOf(again)).map((event) => event.type)).toEqual([
      'SessionStarted',
      'WorkspaceCheckpointed',
      'note',
    ]);
    expect(LeaseHeldError.is(await failureOf(store.delete(id)))).toBe(true);
    await again.close();
    await store.delete(id);
    await store.delete(id);
    expect(await collect(store.list())).toEqual([]);
    expect(await collect(world.blobs.list())).toEqual([]);
    for (const call of [() => store.open(id), () => store.read(id), () => collect(store.refs(id))]) {
      expect(SessionNotFoundError.is(await failureOf(call()))).toBe(true);
    }
    const recreated = await store.create({ id });
    expect([recreated.tip, recreated.fold.title, recreated.epoch > again.epoch]).toEqual([
      1,
      undefined,
      true,
    ]);
    await store.close();
  });

  it('refuses taken ids, unknown ids, ids that are none, and busy sessions', async () => {
    const world = new World({ notes });
    const store = await world.store();
    const journal = await store.create({ id });
    expect(SessionExistsError.is(await failureOf(store.create({ id })))).toBe(true);
    expect(SessionExistsError.is(await failureOf((await world.store()).create({ id })))).toBe(true);
    const held = (await failureOf((await world.store()).open(id))) as LeaseHeldError;
    expect([LeaseHeldError.is(held), held.holderEpoch]).toEqual([true, 1]);
    expect(SessionNotFoundError.is(await failureOf(store.open('nobody-here')))).toBe(true);
    for (const call of [
      () => store.create({ id: 'No' }),
      () => store.open('../../etc'),
      () => store.read(''),
      () => store.delete('x'),
      () => collect(store.refs('y')),
      () => store.owner('z'),
      () => store.resolve('session'),
    ]) {
      expect(InvalidSessionIdError.is(await failureOf(call()))).toBe(true);
    }
    await expect(store.create({ title: 5 as never })).rejects.toThrow(TypeError);
    await journal.close();
    expect(SessionExistsError.is(await failureOf(store.create({ id })))).toBe(true);
    await store.close();
  });

  it('finds a session by the beginning of its id, when it is that of one only', async () => {
    const world = new World({ notes });
    const store = await world.store();
    for (const made of ['session-0001', 'session-0002', 'session-00021', 'another-one'])
      await (await store.create({ id: made })).append({ type: 'SessionStarted', body: {} });
    // A creation that was interrupted left storage and no session.
    await (await world.ledgers().open('another-0', { create: true })).close();
    expect(await store.resolve('another-')).toBe('another-one');
    expect(await store.resolve('session-0001')).toBe('session-0001');
    expect(await store.resolve('session-0002')).toBe('session-0002');
    const ambiguous = (await failureOf(store.resolve('session-000'))) as AmbiguousSessionIdError;
    expect(AmbiguousSessionIdError.is(ambiguous)).toBe(true);
    expect(ambiguous).toMatchObject({
      prefix: 'session-000',
      matches: ['session-0001', 'session-0002', 'session-00021'],
      effect: 'none',
    });
    expect(SessionNotFoundError.is(await failureOf(store.resolve('session-0003')))).toBe(true);
    expect(SessionNotFoundError.is(await failureOf(store.resolve('another-two')))).toBe(true);
    await store.close();
  });

  it('waits for the holder when told to', async () => {
    const world = new World({ notes });
    const store = await world.store();
    const journal = await store.create({ id });
    const opening = (await world.store()).open(id, { wait: true });
    await journal.append({ type: 'note', body: 1 });
    await journal.close();
    const again = await opening;
    expect((await eventsOf(again)).length).toBe(1);
    const controller = new AbortController();
    const reason = new Error('no time');
    const waiting = store.open(id, { wait: true, signal: controller.signal });
    controller.abort(reason);
    expect(await failureOf(waiting)).toBe(reason);
    await again.close();
  });

  it('rejects aborts with the reason and leaves nothing behind', async () => {
    const world = new World({ notes });
    const store = await world.store();
    const reason = 'enough';
    const signal = AbortSignal.abort(reason);
    await (await store.create({ id })).close();
    for (const call of [
      () => store.create({ id: 'session-0002', signal }),
      () => store.open(id, { signal }),
      () => store.read(id, { signal }),
      () => store.delete(id, { signal }),
      () => collect(store.list({ signal })),
      () => collect(store.refs(id, { signal })),
      () => store.owner(id, { signal }),
    ]) {
      expect(await failureOf(call())).toBe(reason);
    }
    expect((await collect(store.list())).map((summary) => summary.id)).toEqual([id]);
    for (let turn = 0; turn < 40; turn += 1) {
      const controller = new AbortController();
      const opening = store.open(id, { signal: controller.signal });
      for (let step = 0; step < turn; step += 1) await Promise.resolve();
      controller.abort(reason);
      try {
        await (await opening).close();
      } catch (error) {
        expect(error).toBe(reason);
      }
    }
    // The lease was given back each time.
    await (await store.open(id)).close();
  });

  it('closes what it opened, and is closed for good', async () => {
    const world = new World({ notes });
    const store = await world.store();
    const one = await store.create({ id });
    const two = await store.create();
    await store.close();
    await store[Symbol.asyncDispose]();
    for (const journal of [one, two]) {
      expect(JournalClosedError.is(await failureOf(journal.append({ type: 'note', body: 1 })))).toBe(true);
    }
    for (const call of [
      () => store.create(),
      () => store.open(id),
      () => store.read(id),
      () => store.delete(id),
      () => collect(store.list()),
      () => collect(store.refs(id)),
      () => store.owner(id),
    ]) {
      const error = (await failureOf(call())) as JournalClosedError;
      expect([JournalClosedError.is(error), error.subject]).toEqual([true, 'session-store']);
    }
    await (await (await world.store()).open(id)).close();
  });

  it('gives back lease and ledger when opening fails', async () => {
    const world = new World({ notes });
    const store = await world.store();
    await (await store.create({ id })).close();
    const record = world.stored(id)[0] as Uint8Array;
    record[100] = (record[100] as number) ^ 1;
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(JournalCorruptError.is(await failureOf(store.open(id)))).toBe(true);
    }
    record[100] = (record[100] as number) ^ 1;
    await (await store.open(id)).close();
  });

  it('rebuilds a summary that is missing or damaged, and says what it cannot read', async () => {
    const world = new World({ notes });
    const store = await world.store();
    await (await store.create({ id, title: 'kept' })).close();
    const broken = await store.create({ id: 'session-0002' });
    await broken.append({ type: 'note', body: 1 });
    await broken.close();
    for (const key of [`${id}/summary`, 'session-0002/summary']) world.storage.notes.delete(key);
    const record = world.stored('session-0002')[1] as Uint8Array;
    record[90] = (record[90] as number) ^ 4;
    const list = await collect(store.list());
    expect(list).toMatchObject([
      { id, title: 'kept', state: 'new' },
      { id: 'session-0002', state: 'unknown', problem: 'JOURNAL_CORRUPT' },
    ]);
    world.storage.notes.set(`${id}/summary`, new Uint8Array(5));
    expect((await collect(store.list()))[0]).toMatchObject({ title: 'kept' });
    if (notes) expect(world.storage.notes.get(`${id}/summary`)?.length).toBeGreaterThan(5);
  });
});

describe('the parts of a store', () => {
  it('must be there', async () => {
    for (const parts of [{}, { ledgers: memorySessionLedgers() }, { ledgers: 1, leaser: 2, blobs: 3 }]) {
      await expect(SessionStore.open(parts as never)).rejects.toThrow(TypeError);
    }
  });

  it('report their storage paths once each', async () => {
    const store = await SessionStore.open({
      ledgers: memorySessionLedgers(),
      leaser: memoryLeaser(),
      blobs: memoryBlobs(),
    });
    expect(store.storagePaths()).toEqual([]);
  });
});

describe('sessions in one shared ledger', () => {
  it('need no notes, and are read while their owner writes', async () => {
    const ledger = memoryLedger();
    const parts = { ledgers: sharedSessionLedgers(ledger), leaser: memoryLeaser(), blobs: memoryBlobs() };
    const store = await SessionStore.open(parts);
    const journal = await store.create({ id: 'session-0001', title: 't' });
    await journal.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(3)) });
    await journal.announce({ socket: '/run/x' });
    expect(await store.owner('session-0001')).toBeUndefined();
    expect(await collect(ledger.list())).toEqual(['sessions/session-0001/journal']);
    const view = await store.read('session-0001');
    expect((await view.neededRefs()).map((needed) => needed.ref)).toEqual([refOf(3)]);
    expect(await collect(store.refs('session-0001'))).toEqual([refOf(3)]);
    await view.close();
    await journal.close();
    await store.delete('session-0001');
    expect(await collect(ledger.list())).toEqual([]);
    await parts.ledgers.close();
    expect(await failureOf(parts.ledgers.open('session-0001'))).toMatchObject({
      code: 'JOURNAL_LEDGER_CLOSED',
    });
    expect(await ledger.tip('other')).toBe(0);
  });
});

describe('notes', () => {
  const id = 'session-0001';

  it('name a ref before the event that adds it, also when the append then fails', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    world.faults?.arm({ operation: 'append', kind: 'error' });
    await failureOf(journal.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(1)) }));
    const note = (): ReturnType<typeof decodeRefsNote> =>
      decodeRefsNote(id, world.storage.notes.get(`${id}/refs`) as Uint8Array);
    expect(note().refs).toEqual([refOf(1)]);
    await journal.appendPrivate({
      type: 'restore-started',
      body: { restoreId: 'r', ref: refOf(2), previousRef: refOf(3), safetyRef: refOf(4), strategy: 'swap' },
    });
    expect(note().refs).toEqual([1, 2, 3, 4].map(refOf));
    await journal.close();
    expect(note()).toMatchObject({ tip: 2, sessionId: id, epoch: 1 });
  });

  it('hold a tip that lags by fewer than 16 appends, and by at most a second', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const noted = (): number => decodeRefsNote(id, world.storage.notes.get(`${id}/refs`) as Uint8Array).tip;
    for (let index = 0; index < 100; index += 1) {
      await journal.append({ type: 'note', body: index });
      expect(journal.tip - noted()).toBeLessThan(16);
    }
    await journal.append({ type: 'note', body: 'last' });
    expect(journal.tip - noted()).toBeGreaterThan(0);
    await world.clock.advance(1_000);
    await journal.append({ type: 'note', body: 'settle' });
    expect(noted()).toBeGreaterThanOrEqual(journal.tip - 1);
    await journal.close();
    expect([noted(), world.clock.pending]).toEqual([journal.tip, 0]);
  });

  it('refuse a journal that is shorter than they say, another one, and none at all', async () => {
    const world = new World();
    const store = await world.store();
    const journal = await store.create({ id });
    for (let index = 0; index < 5; index += 1) await journal.append({ type: 'note', body: index });
    await journal.close();
    const kept = [...world.stored(id)];
    const kind = async (): Promise<unknown> =>
      ((await failureOf(store.open(id))) as JournalCorruptError).kind;
    world.stored(id).splice(4);
    expect(await kind()).toBe('shorter-than-recorded');
    expect(((await failureOf(store.read(id))) as JournalCorruptError).kind).toBe('shorter-than-recorded');
    world.stored(id).splice(0);
    expect(await kind()).toBe('shorter-than-recorded');
    world.stored(id).push(...kept);
    const note = world.storage.notes.get(`${id}/refs`) as Uint8Array;
    world.storage.notes.set(
      `${id}/refs`,
      encodeRefsNote({ ...decodeRefsNote(id, note), digest: '0'.repeat(64) }),
    );
    expect(await kind()).toBe('digest-mismatch');
    world.storage.notes.set(
      `${id}/refs`,
      encodeRefsNote({ ...decodeRefsNote(id, note), sessionId: 'session-0002' }),
    );
    expect(await kind()).toBe('refs-unreadable');
    world.storage.notes.delete(`${id}/refs`);
    expect(await kind()).toBe('refs-unreadable');
    expect(((await failureOf(collect(store.refs(id)))) as JournalCorruptError).kind).toBe('refs-unreadable');
    world.storage.notes.set(`${id}/refs`, note);
    await (await store.open(id)).close();
  });

  it('can be given up on purpose: the journal is read whole and taken as it is', async () => {
    const world = new World();
    const store = await world.store();
    const journal = await store.create({ id });
    await journal.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(1)) });
    for (let index = 0; index < 5; index += 1) await journal.append({ type: 'note', body: index });
    await journal.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(2)) });
    await journal.close();
    const key = `${id}/refs`;
    const note = world.storage.notes.get(key) as Uint8Array;
    const lost = world.stored(id).splice(6);
    const damages: readonly (() => void)[] = [
      () => world.storage.notes.set(key, note),
      () => world.storage.notes.set(key, note.slice(0, 50)),
      () => world.storage.notes.delete(key),
    ];
    for (const damage of damages) {
      damage();
      expect(JournalCorruptError.is(await failureOf(store.open(id)))).toBe(true);
      const adopted = await store.open(id, { adopt: true });
      expect((await eventsOf(adopted)).length).toBe(5);
      await adopted.close();
      expect(await collect(store.refs(id))).toEqual([refOf(1)]);
      await (await store.open(id)).close();
    }
    // What is damaged inside is not adopted.
    const record = world.stored(id)[2] as Uint8Array;
    record[99] = (record[99] as number) ^ 1;
    expect(JournalCorruptError.is(await failureOf(store.open(id, { adopt: true })))).toBe(true);
    expect(lost.length).toBeGreaterThan(0);
  });

  it('of a session whose creation was interrupted do not stand in its way', async () => {
    const world = new World();
    const store = await world.store();
    world.storage.notes.set(
      `${id}/refs`,
      encodeRefsNote({ sessionId: id, epoch: 1, tip: 0, digest: '', refs: [] }),
    );
    await (await world.ledgers().open(id, { create: true })).close();
    expect(SessionNotFoundError.is(await failureOf(store.open(id)))).toBe(true);
    expect(await collect(store.list())).toEqual([]);
    const journal = await store.create({ id });
    expect(journal.tip).toBe(1);
    await journal.close();
  });

  it('carry what the owner announces', async () => {
    const world = new World();
    const store = await world.store();
    const journal = await store.create({ id });
    await journal.announce({ socket: '/run/a' });
    await journal.announce({ pid: 7 });
    expect(await store.owner(id)).toEqual({ socket: '/run/a', pid: 7 });
    world.storage.notes.set(`${id}/owner`, new TextEncoder().encode('{broken'));
    expect(await store.owner(id)).toBeUndefined();
    await journal.announce({ pid: 8 });
    expect(await store.owner(id)).toEqual({ pid: 8 });
    await journal.close();
  });

  it('refuse appends while they cannot be written, and go on when they can', async () => {
    const world = new World();
    const ledgers = world.ledgers();
    const inner = ledgers.notes as NonNullable<typeof ledgers.notes>;
    let broken = false;
    const flaky = {
      ...ledgers,
      notes: {
        read: async (...call: Parameters<typeof inner.read>) => await inner.read(...call),
        write: async (...call: Parameters<typeof inner.write>) => {
          if (broken) throw new Error('disk full');
          await inner.write(...call);
        },
      },
    };
    const { blobs, clock, random } = world;
    const store = await SessionStore.open({ ledgers: flaky, leaser: world.leaser(), blobs, clock, random });
    const journal = await store.create({ id });
    broken = true;
    const checkpoint = { type: 'WorkspaceCheckpointed', id: 'c', body: checkpointBody(refOf(1)) } as const;
    expect(await failureOf(journal.append(checkpoint))).toMatchObject({
      code: 'JOURNAL_BACKEND',
      operation: 'write note',
    });
    let acknowledged = 0;
    for (; acknowledged < 40; acknowledged += 1) {
      try {
        await journal.append({ type: 'note', body: acknowledged });
      } catch {
        break;
      }
    }
    expect(acknowledged).toBeLessThanOrEqual(16);
    broken = false;
    await journal.append(checkpoint);
    await journal.append({ type: 'note', body: 'again' });
    expect((await journal.checkpoints()).length).toBe(1);
    await journal.close();
  });
});

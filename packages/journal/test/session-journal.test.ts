import {
  EventInvalidError,
  IdempotencyCollisionError,
  JournalClosedError,
  JournalCorruptError,
  JournalVersionError,
  LedgerBackendError,
  parsePreparedEvent,
  type SessionEvent,
} from '@holdfast/journal';
import { describe, expect, it } from 'vitest';

import { checkpointBody, collect, eventsOf, failureOf, refOf, World } from './support/world.js';

const id = 'session-0001';

describe('idempotency', () => {
  it('returns the first record for the same id and content, whatever the order of keys', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const first = await journal.append({ type: 'note', id: 'n-1', body: { a: 1, b: [1, { c: 2, d: 3 }] } });
    const again = await journal.append({ type: 'note', id: 'n-1', body: { b: [1, { d: 3, c: 2 }], a: 1 } });
    expect(again).toEqual(first);
    const other = journal.append({ type: 'note', id: 'n-1', body: { a: 2 } });
    const error = (await failureOf(other)) as IdempotencyCollisionError;
    expect(IdempotencyCollisionError.is(error)).toBe(true);
    expect(error.seq).toBe(first.seq);
    for (const twin of [
      { type: 'other', id: 'n-1', body: { a: 1, b: [1, { c: 2, d: 3 }] } },
      { type: 'note', id: 'n-1', loop: 'x', body: { a: 1, b: [1, { c: 2, d: 3 }] } },
    ]) {
      expect(IdempotencyCollisionError.is(await failureOf(journal.append(twin)))).toBe(true);
    }
    await journal.close();
  });

  it('recognises twins that are appended at once', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const twins = await Promise.all(
      Array.from({ length: 5 }, () => journal.append({ type: 'note', id: 'twin', body: { a: 1 } })),
    );
    expect(new Set(twins.map((twin) => twin.seq)).size).toBe(1);
    const [good, bad] = await Promise.allSettled([
      journal.append({ type: 'note', id: 'pair', body: 1 }),
      journal.append({ type: 'note', id: 'pair', body: 2 }),
    ]);
    expect(good.status).toBe('fulfilled');
    expect(bad.status === 'rejected' && IdempotencyCollisionError.is(bad.reason)).toBe(true);
    expect((await eventsOf(journal)).length).toBe(2);
    await journal.close();
  });

  it('reaches back over index records and restarts, up to the window', async () => {
    const world = new World();
    const store = await world.store();
    let journal = await store.create({ id });
    const first = await journal.append({ type: 'note', id: 'old', body: 'old' });
    const fill = async (count: number): Promise<void> => {
      await Promise.all(
        Array.from({ length: count }, (_, index) => journal.append({ type: 'note', body: index })),
      );
    };
    await fill(4_000);
    await journal.close();
    journal = await store.open(id);
    expect(await journal.append({ type: 'note', id: 'old', body: 'old' })).toEqual(first);
    expect(
      IdempotencyCollisionError.is(await failureOf(journal.append({ type: 'note', id: 'old', body: 'x' }))),
    ).toBe(true);
    await fill(200);
    // Outside the window a retry is out of contract: it is a new record.
    expect((await journal.append({ type: 'note', id: 'old', body: 'old' })).seq).toBeGreaterThan(first.seq);
    expect(await journal.verify()).toMatchObject({ events: 4_202 });
    await journal.close();
  });

  it('knows the last restore and the last checkpoint however long ago they were', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const checkpoint = await journal.append({
      type: 'WorkspaceCheckpointed',
      id: 'c',
      body: checkpointBody(refOf(1)),
    });
    const restored = await journal.append({ type: 'WorkspaceRestored', id: 'r', body: { ref: refOf(1) } });
    await Promise.all(
      Array.from({ length: 5_000 }, (_, index) => journal.append({ type: 'note', body: index })),
    );
    expect(await journal.append({ type: 'WorkspaceRestored', id: 'r', body: { ref: refOf(1) } })).toEqual(
      restored,
    );
    expect(
      await journal.append({ type: 'WorkspaceCheckpointed', id: 'c', body: checkpointBody(refOf(1)) }),
    ).toEqual(checkpoint);
    await journal.close();
  });
});

describe('outcomes of an append', () => {
  it.each(['landed', 'not-landed'] as const)('settles a lost reply (%s): written once', async (kind) => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    world.faults?.arm({ operation: 'append', kind });
    const { seq } = await journal.append({ type: 'note', id: 'a', body: 1 });
    expect(await journal.append({ type: 'note', id: 'b', body: 2 })).toEqual({ seq: seq + 1, id: 'b' });
    expect((await eventsOf(journal)).map((event) => event.body)).toEqual([1, 2]);
    await journal.close();
  });

  it('reports a definite failure, writes nothing, and goes on', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const cause = new Error('disk full');
    world.faults?.arm({ operation: 'append', kind: 'error', error: cause });
    const error = (await failureOf(journal.append({ type: 'note', body: 1 }))) as LedgerBackendError;
    expect(LedgerBackendError.is(error)).toBe(true);
    expect([error.cause, error.effect]).toEqual([cause, 'none']);
    await journal.append({ type: 'note', body: 2 });
    expect((await eventsOf(journal)).map((event) => event.body)).toEqual([2]);
    await journal.close();
  });

  it("finds a record that is nobody's", async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const copy = Uint8Array.from(world.stored(id)[0] as Uint8Array);
    world.stored(id).push(copy);
    const error = await failureOf(journal.append({ type: 'note', body: 1 }));
    expect(JournalCorruptError.is(error)).toBe(true);
    expect(await failureOf(journal.append({ type: 'note', body: 1 }))).toBe(error);
    expect(journal.signal.reason).toBe(error);
    await journal.close();
  });

  it('finds that the ledger became shorter', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    await journal.append({ type: 'note', body: 1 });
    world.stored(id).pop();
    const error = (await failureOf(journal.append({ type: 'note', body: 2 }))) as JournalCorruptError;
    expect(error.kind).toBe('shorter-than-recorded');
    await journal.close();
  });
});

describe('order and aborts', () => {
  it('keeps the order of calls, whatever their size', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const bodies = Array.from({ length: 40 }, (_, index) => ({
      index,
      text: 'x'.repeat(index % 7 === 0 ? 600_000 : 5),
    }));
    await Promise.all(bodies.map((body) => journal.append({ type: 'note', body })));
    expect((await eventsOf(journal)).map((event) => event.body)).toEqual(bodies);
    await journal.close();
  });

  it('owns what it was given at the call', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const body = { list: [1, 2], deep: { a: 'a' } };
    const pending = journal.append({ type: 'note', body });
    body.list.push(3);
    body.deep.a = 'changed';
    await pending;
    const [event] = await collect(journal.events());
    expect(event?.body).toEqual({ list: [1, 2], deep: { a: 'a' } });
    await journal.close();
  });

  it('an abort while waiting has no effect, and rejects with the very reason', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const controller = new AbortController();
    const reason = { not: 'an error' };
    const first = journal.append({ type: 'note', body: 1 });
    const aborted = journal.append({ type: 'note', body: 2 }, { signal: controller.signal });
    const last = journal.append({ type: 'note', body: 3 });
    controller.abort(reason);
    expect(await failureOf(aborted)).toBe(reason);
    await Promise.all([first, last]);
    expect((await eventsOf(journal)).map((event) => event.body)).toEqual([1, 3]);
    const already = journal.append({ type: 'note', body: 4 }, { signal: AbortSignal.abort(reason) });
    expect(await failureOf(already)).toBe(reason);
    await journal.close();
  });

  it('does not keep others waiting behind one that left', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const controller = new AbortController();
    const large = journal.append({ type: 'note', body: 'x'.repeat(600_000) }, { signal: controller.signal });
    const small = journal.append({ type: 'note', body: 'small' });
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    controller.abort('left');
    expect(await failureOf(large)).toBe('left');
    await small;
    expect((await eventsOf(journal)).map((event) => event.body)).toEqual(['small']);
    await journal.close();
  });

  it('appends a batch together or not at all', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const started = {
      kind: 'private',
      type: 'restore-started',
      body: { restoreId: 'r-1', ref: refOf(1), previousRef: null, strategy: 'swap' },
    } as const;
    const before = journal.tip;
    const refused = journal.appendBatch([
      { kind: 'event', type: 'note', body: 1 },
      started,
      { ...started, body: { ...started.body, restoreId: 'r-2' } },
    ]);
    expect(EventInvalidError.is(await failureOf(refused))).toBe(true);
    expect(journal.tip).toBe(before);
    expect(journal.fold.openRestore).toBeUndefined();
    await journal.append({ type: 'note', body: 'between' });
    const appended = await journal.appendBatch([
      started,
      { kind: 'private', type: 'restore-prepared', body: { restoreId: 'r-1', exact: true, treeKey: 'k' } },
      { kind: 'event', type: 'WorkspaceRestored', id: 'r-1', body: { ref: refOf(1) } },
    ]);
    expect(appended.map(({ seq }) => seq)).toEqual([before + 2, before + 3, before + 4]);
    expect(journal.fold.lastRestore).toMatchObject({
      restoreId: 'r-1',
      prepared: { exact: true, treeKey: 'k' },
    });
    await expect(journal.appendBatch([])).rejects.toThrow(RangeError);
    await journal.close();
  });

  it('lets one bad append of many fail alone', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const outcomes = await Promise.allSettled([
      journal.append({ type: 'note', body: 1 }),
      journal.append({ type: 'WorkspaceRestored', body: { ref: 'nonsense' } }),
      journal.appendPrivate({ type: 'restore-aborted', body: { restoreId: 'r-9' } }),
      journal.append({ type: 'note', body: 2 }),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect((await eventsOf(journal)).map((event) => event.body)).toEqual([1, 2]);
    await journal.close();
  });

  it('close waits for appends under way, and refuses later ones', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const pending = Array.from({ length: 20 }, (_, index) => journal.append({ type: 'note', body: index }));
    const closing = journal.close();
    await Promise.all(pending);
    await closing;
    await journal.close();
    for (const call of [
      () => journal.append({ type: 'note', body: 1 }),
      () => journal.appendPrivate({ type: 'note', body: 1 }),
      () => journal.setTitle('x'),
      () => journal.announce({}),
      () => collect(journal.events()),
      () => collect(journal.records()),
      () => journal.checkpoints(),
      () => journal.neededRefs(),
      () => journal.verify(),
      () => collect(journal.follow({ signal: new AbortController().signal })),
    ]) {
      expect(JournalClosedError.is(await failureOf(call()))).toBe(true);
    }
    expect(JournalClosedError.is(journal.signal.reason)).toBe(true);
    const again = await (await world.store()).open(id);
    expect((await eventsOf(again)).length).toBe(20);
    await again.close();
  });
});

describe('reading', () => {
  it('keeps private records out of the event stream, and in the records', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id, title: 'secret' });
    await journal.append({ type: 'note', loop: 'l-1', body: 1 });
    await journal.appendPrivate({ type: 'plan', body: { hidden: true } });
    await journal.append({ type: 'note', loop: 'l-2', body: 2 });
    expect((await collect(journal.events())).map((event) => event.type)).toEqual(['note', 'note']);
    expect((await collect(journal.events({ loop: 'l-2' }))).map((event) => event.body)).toEqual([2]);
    expect((await collect(journal.events({ from: 4, to: 4 }))).map((event) => event.body)).toEqual([]);
    const kinds = (await collect(journal.records())).map(({ kind, type }) => `${kind} ${type ?? ''}`);
    expect(kinds).toEqual(['fence ', 'private title', 'event note', 'private plan', 'event note']);
    await journal.close();
  });

  it('follows, each event once, and ends with the reason', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const controller = new AbortController();
    const following = journal.follow({ from: 1, signal: controller.signal });
    await journal.append({ type: 'note', body: 0 });
    for (let index = 0; index < 5; index += 1) {
      const step = following.next();
      await journal.append({ type: 'note', body: index + 1 });
      expect((await step).value).toMatchObject({ body: index });
    }
    expect((await following.next()).value).toMatchObject({ body: 5 });
    const reason = new Error('enough');
    const last = failureOf(following.next());
    controller.abort(reason);
    expect(await last).toBe(reason);
    await journal.close();
  });

  it('ends followers when the journal is closed', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const waiting = failureOf(journal.follow({ signal: new AbortController().signal }).next());
    await journal.close();
    expect(JournalClosedError.is(await waiting)).toBe(true);
  });

  it('reports damage with its sequence, again and again', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    for (let index = 0; index < 5; index += 1) await journal.append({ type: 'note', body: index });
    const record = world.stored(id)[3] as Uint8Array;
    record[record.length - 3] = (record[record.length - 3] as number) ^ 1;
    const events = journal.events();
    expect(((await events.next()).value as SessionEvent).body).toBe(0);
    await events.next();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const error = (await failureOf(events.next())) as JournalCorruptError;
      expect([error.kind, error.seq]).toEqual(['digest-mismatch', 4]);
    }
    expect((await failureOf(journal.verify())) as JournalCorruptError).toMatchObject({ seq: 4 });
    await journal.close();
  });

  it('finds records that were written anew, whole in themselves', async () => {
    const { sealed } = await import('./support/sealed.js');
    const world = new World();
    const store = await world.store();
    await (await store.create({ id })).close();
    const journal = await store.open(id);
    for (let index = 0; index < 3; index += 1) await journal.append({ type: 'note', body: index });
    await journal.close();
    const kept = world.stored(id).map((record) => Uint8Array.from(record));
    const kindOf = async (change: (records: Uint8Array[]) => void): Promise<unknown> => {
      const records = kept.map((record) => Uint8Array.from(record));
      change(records);
      world.stored(id).splice(0, kept.length, ...records);
      return ((await failureOf(store.read(id))) as JournalCorruptError).kind;
    };
    const forged = await kindOf((records) => {
      const alone = records.slice(0, 4);
      sealed(alone, 4, (record) => ({ ...record, body: 'forged' }));
      records[3] = alone[3] as Uint8Array;
    });
    expect(forged).toBe('chain-broken');
    const plain = new World({ notes: false });
    const other = await plain.store();
    await (await other.create({ id })).close();
    for (const [seq, epoch] of [
      [3, 1],
      [4, 3],
      [2, 1],
    ] as const) {
      const records = kept.map((record) => Uint8Array.from(record));
      sealed(records, seq, (record) => ({ ...record, epoch }));
      plain.stored(id).splice(0, 99, ...records);
      expect(((await failureOf(other.read(id))) as JournalCorruptError).kind).toBe('epoch-order');
    }
  });

  it('says when acknowledged records are gone while it is open', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    for (let index = 0; index < 4; index += 1) await journal.append({ type: 'note', body: index });
    world.stored(id).splice(3);
    expect(await failureOf(collect(journal.events()))).toMatchObject({ kind: 'missing', seq: 4 });
    expect(await failureOf(collect(journal.events({ from: 5 })))).toMatchObject({ kind: 'missing' });
    await journal.close();
  });

  it('finds dropped, doubled and exchanged records', async () => {
    for (const damage of [
      (all: Uint8Array[]) => all.splice(3, 1),
      (all: Uint8Array[]) => all.splice(3, 0, all[3] as Uint8Array),
      (all: Uint8Array[]) => all.splice(2, 2, all[3] as Uint8Array, all[2] as Uint8Array),
    ]) {
      const world = new World();
      const store = await world.store();
      const journal = await store.create({ id });
      for (let index = 0; index < 5; index += 1) await journal.append({ type: 'note', body: index });
      await journal.close();
      damage(world.stored(id));
      expect(JournalCorruptError.is(await failureOf(store.open(id)))).toBe(true);
    }
  });

  it('tells a newer format from damage', async () => {
    const { sealed } = await import('./support/sealed.js');
    for (const [members, found] of [
      [{ v: 2 }, 'format version 2'],
      [{ kind: 'dream' }, 'kind "dream"'],
    ] as const) {
      const world = new World({ notes: false });
      const store = await world.store();
      const journal = await store.create({ id });
      await journal.append({ type: 'note', body: 1 });
      await journal.close();
      sealed(world.stored(id), 2, (record) => ({ ...record, ...members }));
      const error = (await failureOf(store.open(id))) as JournalVersionError;
      expect(JournalVersionError.is(error)).toBe(true);
      expect([error.seq, error.found]).toEqual([2, found]);
    }
  });

  it('a view reads without a lease, and moves on when told to', async () => {
    const world = new World();
    const store = await world.store();
    const journal = await store.create({ id });
    await journal.append({ type: 'note', body: 1 });
    const view = await store.read(id);
    expect(view.id).toBe(id);
    expect((await eventsOf(view)).length).toBe(1);
    await journal.append({ type: 'note', body: 2 });
    expect((await eventsOf(view)).length).toBe(1);
    await view.refresh();
    expect((await eventsOf(view)).length).toBe(2);
    expect(view.tip).toBe(journal.tip);
    await view.close();
    for (const call of [() => view.refresh(), () => collect(view.events()), () => view.checkpoints()]) {
      expect(JournalClosedError.is(await failureOf(call()))).toBe(true);
    }
    await journal.close();
  });
});

describe('large bodies', () => {
  it('lie in the blob store, verified by size and digest', async () => {
    for (const damage of ['missing', 'other'] as const) {
      const world = new World();
      const journal = await (await world.store()).create({ id });
      const body = { text: 'é'.repeat(400_000) };
      await journal.append({ type: 'note', body });
      await journal.appendPrivate({ type: 'plan', body });
      await journal.append({ type: 'note', body: 'small' });
      expect((await eventsOf(journal)).map((event) => event.body)).toEqual([body, 'small']);
      expect(Math.max(...world.stored(id).map((record) => record.length))).toBeLessThan(1_000);
      const keys = await collect(world.blobs.list('journal/'));
      expect(keys.length).toBe(1);
      const key = keys[0]?.key ?? '';
      if (damage === 'missing') await world.blobs.delete(key);
      else {
        await world.blobs.delete(key);
        await world.blobs.put(key, new TextEncoder().encode(`${JSON.stringify(body).slice(0, -3)}x"}`));
      }
      const error = (await failureOf(collect(journal.events()))) as JournalCorruptError;
      expect([error.kind, error.seq]).toEqual([damage === 'missing' ? 'body-missing' : 'body-mismatch', 2]);
      await journal.close();
    }
  });

  it('are refused above the limit', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const error = (await failureOf(
      journal.append({ type: 'note', body: 'x'.repeat(64 * 1_048_576) }),
    )) as EventInvalidError;
    expect(error.rule).toBe('too-large');
    await journal.append({ type: 'note', body: 1 });
    await journal.close();
  });
});

describe('prepared events', () => {
  it('append what was checked before, also after a restart, once', async () => {
    const world = new World();
    const store = await world.store();
    const journal = await store.create({ id });
    const prepared = journal.prepare({
      type: 'WorkspaceRestored',
      id: 'restore-1',
      time: 77,
      body: { ref: refOf(5) },
    });
    expect(() => journal.prepare({ type: 'WorkspaceRestored', body: { ref: 'x' } })).toThrow(
      EventInvalidError,
    );
    const first = await journal.append(prepared);
    await journal.close();
    const again = await store.open(id);
    const read = parsePreparedEvent(prepared.bytes);
    expect(read).toEqual(prepared);
    expect(await again.append(read)).toEqual(first);
    const [event] = await collect(again.events());
    expect(event).toMatchObject({
      id: 'restore-1',
      time: 77,
      type: 'WorkspaceRestored',
      body: { ref: refOf(5) },
    });
    await again.close();
    for (const bytes of [
      '',
      '{}',
      '[]',
      '{"id":"a","time":1,"type":"WorkspaceRestored","body":{"ref":"x"}}',
    ]) {
      expect(() => parsePreparedEvent(new TextEncoder().encode(bytes))).toThrow(EventInvalidError);
    }
  });
});

describe('copies', () => {
  it('keep id, time, loop, unknown types and unknown members', async () => {
    const { sealed } = await import('./support/sealed.js');
    const world = new World({ notes: false });
    const store = await world.store();
    const journal = await store.create({ id });
    await journal.append({
      type: 'TurnDone',
      id: 't',
      loop: 'l',
      time: 5,
      body: { turn: 't', loop: 'l', more: { x: 1 } } as never,
    });
    await journal.append({ type: 'note', body: 1 });
    await journal.close();
    const future = { type: 'ThingOfTheFuture', hue: { a: ['b'] }, ['__proto__']: 'kept' };
    sealed(world.stored(id), 3, (record) => Object.assign(Object.create(null) as object, record, future));
    const view = await store.read(id);
    const events = await collect(view.events());
    expect(events[1]).toMatchObject({ type: 'ThingOfTheFuture', body: 1, extra: { hue: { a: ['b'] } } });
    const copy = await store.create({ id: 'session-copy' });
    for (const event of events) await copy.appendCopy(event);
    const copied = await collect(copy.events());
    expect(copied.map(({ seq, epoch, ...rest }) => ({ ...rest, here: seq > 0 && epoch > 0 }))).toEqual(
      events.map(({ seq, epoch, ...rest }) => ({ ...rest, here: seq > 0 && epoch > 0 })),
    );
    expect(Object.keys((copied[1] as SessionEvent).extra)).toContain('__proto__');
    await copy.close();
    await view.close();
  });
});

import { createHash } from 'node:crypto';

import { memoryBlobs } from '@holdfast/blobs';
import {
  decodeRefsNote,
  decodeSummary,
  EventInvalidError,
  isJournalError,
  JournalClosedError,
  JournalCorruptError,
  JournalVersionError,
  type LedgerBackendError,
  LedgerClosedError,
  memoryLedger,
  memorySessionLedgers,
  parsePreparedEvent,
  SessionNotFoundError,
  SessionStore,
  sharedSessionLedgers,
} from '@holdfast/journal';
import { memorySessionParts } from '@holdfast/journal/testing';
import { memoryLeaser } from '@holdfast/lease';
import { describe, expect, it } from 'vitest';

import { sealed } from './support/sealed.js';
import { checkpointBody, collect, eventsOf, failureOf, refOf, World } from './support/world.js';

const id = 'session-0001';

function seal(text: string): Uint8Array {
  const digest = createHash('sha256').update(text).digest('hex');
  return new TextEncoder().encode(`${digest}\n${text}`);
}

describe('records that are whole and wrong', () => {
  async function kindOf(change: (records: Uint8Array[]) => void): Promise<unknown> {
    const world = new World({ notes: false });
    const store = await world.store();
    const journal = await store.create({ id });
    await journal.append({ type: 'note', id: 'n', body: 1 });
    await journal.append({ type: 'WorkspaceRestored', id: 'r', body: { ref: refOf(1) } });
    await journal.close();
    change(world.stored(id));
    const error = (await failureOf(store.read(id))) as JournalCorruptError;
    expect(JournalCorruptError.is(error)).toBe(true);
    return error.kind;
  }

  it.each([
    ['no object', () => seal('[1]')],
    ['null', () => seal('null')],
    ['no JSON', () => seal('{"v":1,')],
    ['no UTF-8', () => new Uint8Array([...seal('{"v":1}'), 0xff])],
    ['too short', () => new Uint8Array(10)],
  ])('%s', async (_, bytes) => {
    expect(await kindOf((records) => records.splice(1, 1, bytes()))).toMatch(/undecodable|digest-mismatch/);
  });

  it.each([
    [{ seq: 9 }, 'sequence-mismatch'],
    [{ id: '../x' }, 'undecodable'],
    [{ epoch: 0 }, 'undecodable'],
    [{ epoch: 1.5 }, 'undecodable'],
    [{ epoch: 2 ** 53 }, 'undecodable'],
    [{ time: 'now' }, 'undecodable'],
    [{ previous: 'x' }, 'undecodable'],
    [{ previous: '0'.repeat(64) }, 'chain-broken'],
    [{ index: 2 }, 'undecodable'],
    [{ index: -1 }, 'undecodable'],
    [{ type: undefined }, 'undecodable'],
    [{ type: 7 }, 'undecodable'],
    [{ loop: 7 }, 'undecodable'],
    [{ body: undefined }, 'undecodable'],
    [{ kind: 'pointer', of: 'dream' }, 'undecodable'],
    [{ kind: 'pointer', of: 'event', body: {} }, 'undecodable'],
    [{ kind: 'pointer', of: 'event', body: 'x' }, 'undecodable'],
    [{ kind: 'fence', type: undefined }, 'epoch-order'],
    [{ kind: 'index', type: undefined, body: {} }, 'index-invalid'],
    [{ kind: 'private', type: 'title', body: { title: 1 } }, 'event-invalid'],
    [{ type: 'WorkspaceRestored', body: { ref: 'x' } }, 'event-invalid'],
  ])('%o', async (members, kind) => {
    const found = await kindOf((records) => {
      sealed(records, 2, (record) => ({ ...record, ...members }));
      // An index record is looked at when something names it.
      if ((members as { kind?: unknown }).kind === 'index')
        sealed(records, 3, (record) => ({ ...record, index: 2 }));
    });
    expect(found).toBe(kind);
  });

  it('a body beside the journal that is no JSON text', async () => {
    const world = new World({ notes: false });
    const store = await world.store();
    const journal = await store.create({ id });
    await journal.append({ type: 'note', body: 1 });
    await journal.close();
    const bytes = new TextEncoder().encode('{broken');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await world.blobs.put('journal/x', bytes);
    sealed(world.stored(id), 2, (record) => ({
      ...record,
      kind: 'pointer',
      of: 'event',
      body: { key: 'journal/x', size: bytes.length, sha256 },
    }));
    expect(await failureOf(store.read(id))).toMatchObject({ kind: 'undecodable', seq: 2 });
  });
});

describe('notes that are whole and wrong', () => {
  it.each([
    { v: 1, session: 'session-0002', epoch: 1, tip: 0, digest: '', refs: [] },
    { v: 1, session: id, epoch: 'x', tip: 0, digest: '', refs: [] },
    { v: 1, session: id, epoch: 1, tip: 0, digest: '', refs: ['x'] },
    { v: 1, session: id, epoch: 1, tip: 0, digest: '' },
    [[1]],
  ])('refs %o', (value) => {
    const decode = (): unknown => decodeRefsNote(id, seal(JSON.stringify(value)));
    expect(decode).toThrow(expect.objectContaining({ kind: 'refs-unreadable' }) as Error);
  });

  it('refs that are no JSON, and those of a newer version', () => {
    expect(() => decodeRefsNote(id, seal('{broken'))).toThrow(JournalCorruptError);
    expect(() => decodeRefsNote(id, seal('{"v":2}'))).toThrow(JournalVersionError);
  });

  it.each(['{broken', '[]', '{"v":2}', '{"v":1,"id":"session-0002"}'])('summary %s', (text) => {
    expect(decodeSummary(id, seal(text))).toBeUndefined();
  });

  const summary = { v: 1, id, title: 'x', createdAt: 1, lastActive: 2, state: 'idle' };
  const checkpoint = {
    ref: refOf(1),
    eventId: 'e',
    seq: 2,
    consistency: 'quiescent',
    trigger: 'manual',
    time: 3,
  };

  it.each([
    { title: [] },
    { createdAt: {} },
    { lastActive: '..' },
    { lastActive: 1.5 },
    { state: [[]] },
    { state: 'asleep' },
    { lastCheckpoint: null },
    { lastCheckpoint: { ...checkpoint, ref: 'x' } },
    { currentWorkspace: 'x' },
    { problem: 1 },
  ])('summary with %o', (change) => {
    expect(decodeSummary(id, seal(JSON.stringify({ ...summary, ...change })))).toBeUndefined();
  });

  it('but no summary that fits', () => {
    const read = decodeSummary(
      id,
      seal(JSON.stringify({ ...summary, lastCheckpoint: checkpoint, later: 1 })),
    );
    expect(read).toMatchObject({ title: 'x', state: 'idle', lastCheckpoint: checkpoint });
  });
});

describe('prepared events that are none', () => {
  const good = { id: 'a', time: 1, type: 'note', body: 1 };
  it.each([
    { ...good, id: '' },
    { ...good, time: 0.5 },
    { ...good, loop: 5 },
    { ...good, body: undefined },
    { ...good, type: 'Unknown' },
  ])('%o', (value) => {
    expect(() => parsePreparedEvent(new TextEncoder().encode(JSON.stringify(value)))).toThrow(
      EventInvalidError,
    );
  });

  it('and one that is', () => {
    const bytes = new TextEncoder().encode(JSON.stringify({ ...good, loop: 'l' }));
    const read = parsePreparedEvent(bytes);
    bytes.fill(0);
    expect(read).toMatchObject({ ...good, loop: 'l' });
    expect(read.bytes[0]).not.toBe(0);
  });
});

describe('restores in the journal', () => {
  it('have one beginning and one end', async () => {
    const journal = await (await new World().store()).create({ id });
    const started = { restoreId: 'r-1', ref: refOf(1), previousRef: null, strategy: 's' };
    const rule = async (attempt: Promise<unknown>): Promise<unknown> =>
      ((await failureOf(attempt)) as EventInvalidError).rule;
    expect(await rule(journal.appendPrivate({ type: 'restore-prepared', body: { restoreId: 'r-1' } }))).toBe(
      'restore-not-open',
    );
    await journal.appendPrivate({ type: 'restore-started', body: started });
    expect(
      await rule(journal.appendPrivate({ type: 'restore-started', body: { ...started, restoreId: 'r-2' } })),
    ).toBe('restore-open');
    expect(await rule(journal.appendPrivate({ type: 'restore-aborted', body: { restoreId: 'r-2' } }))).toBe(
      'restore-not-open',
    );
    expect(
      await rule(journal.append({ type: 'WorkspaceRestored', id: 'r-2', body: { ref: refOf(1) } })),
    ).toBe('restore-open');
    await journal.append({ type: 'WorkspaceRestored', id: 'r-1', body: { ref: refOf(1) } });
    await journal.append({ type: 'WorkspaceRestored', id: 'r-0', body: { ref: refOf(1) } });
    await journal.close();
  });
});

describe('adapters of session ledgers', () => {
  it('may throw what they like: it becomes one class, and aborts stay aborts', async () => {
    const cause = new Error('socket closed');
    const broken = {
      ...memorySessionLedgers(),
      notes: undefined,
      exists: async () => {
        throw cause;
      },
      open: async () => {
        throw cause;
      },
      list: async function* (): AsyncGenerator<string, void, undefined> {
        yield id;
        throw cause;
      },
      storagePaths: () => ['/one'],
    };
    const store = await SessionStore.open(memorySessionParts({ ledgers: broken as never }));
    for (const [call, operation] of [
      [() => store.open(id), 'exists'],
      [() => store.create({ id }), 'exists'],
      [() => store.delete(id), 'exists'],
      [() => store.read(id), 'open'],
      [() => collect(store.list()), 'list'],
    ] as const) {
      const error = (await failureOf(call())) as LedgerBackendError;
      expect([isJournalError(error), error.operation, error.cause]).toEqual([true, operation, cause]);
    }
    expect(store.storagePaths()).toEqual(['/one']);
    const controller = new AbortController();
    const aborting = {
      ...memorySessionLedgers(),
      exists: async () => {
        controller.abort('enough');
        throw new DOMException('aborted', 'AbortError');
      },
    };
    const other = await SessionStore.open(memorySessionParts({ ledgers: aborting as never }));
    expect(await failureOf(other.open(id, { signal: controller.signal }))).toBe('enough');
  });

  it('of one shared ledger know what is theirs', async () => {
    const ledger = memoryLedger();
    const ledgers = sharedSessionLedgers(ledger);
    await ledger.append('sessions/short/journal', 0, [Uint8Array.of(1)]);
    await ledger.append(`sessions/${id}/other`, 0, [Uint8Array.of(1)]);
    expect(await collect(ledgers.list())).toEqual([]);
    expect(await ledgers.exists(id)).toBe(false);
    expect(SessionNotFoundError.is(await failureOf(ledgers.open(id)))).toBe(true);
    const view = await ledgers.open(id, { create: true });
    await view.append('journal', 0, [Uint8Array.of(1)]);
    expect(await collect(ledgers.list())).toEqual([id]);
    expect(ledgers.storagePaths()).toEqual([]);
    await ledgers.delete(id);
    expect(await collect(ledger.list())).toEqual(['sessions/short/journal']);
    await ledgers[Symbol.asyncDispose]();
    for (const call of [() => ledgers.exists(id), () => collect(ledgers.list()), () => ledgers.delete(id)]) {
      expect(LedgerClosedError.is(await failureOf(call()))).toBe(true);
    }
  });

  it('in memory are closed for good', async () => {
    const ledgers = memorySessionLedgers();
    const ledger = await ledgers.open(id, { create: true });
    await ledgers[Symbol.asyncDispose]();
    expect(LedgerClosedError.is(await failureOf(ledger.tip('x')))).toBe(true);
    for (const call of [() => ledgers.open(id), () => ledgers.exists(id), () => ledgers.delete(id)]) {
      expect(LedgerClosedError.is(await failureOf(call()))).toBe(true);
    }
    expect(ledgers.storagePaths()).toEqual([]);
  });
});

describe('disposal', () => {
  it('works for journals, views and iterations', async () => {
    const store = await SessionStore.open({
      ledgers: memorySessionLedgers(),
      leaser: memoryLeaser(),
      blobs: memoryBlobs(),
    });
    {
      await using journal = await store.create({ id });
      await journal.append({ type: 'note', body: 1 });
      await journal.append({ type: 'note', body: 2 });
      for await (const event of journal.events()) if (event.body === 1) break;
    }
    let kept;
    {
      await using view = await store.read(id);
      kept = view;
      expect((await eventsOf(view)).length).toBe(2);
      await expect(collect(view.events({ from: 0 }))).rejects.toThrow(RangeError);
    }
    expect(JournalClosedError.is(await failureOf(kept.checkpoints()))).toBe(true);
    const again = await store.open(id);
    await again.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(1)) });
    await store[Symbol.asyncDispose]();
    expect(again.signal.aborted).toBe(true);
  });
});

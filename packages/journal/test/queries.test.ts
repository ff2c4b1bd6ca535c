import type { JournalCorruptError, SessionJournal } from '@holdfast/journal';
import { describe, expect, it } from 'vitest';
import { sealed } from './support/sealed.js';
import { checkpointBody, collect, failureOf, refOf, World } from './support/world.js';

const id = 'session-0001';

async function fill(journal: SessionJournal, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => journal.append({ type: 'note', body: index })),
  );
}

describe('checkpoints', () => {
  it('come with trigger, cause, time and size, over any number of index records and restarts', async () => {
    const world = new World();
    const store = await world.store();
    let journal = await store.create({ id });
    const expected: unknown[] = [];
    for (let round = 0; round < 5; round += 1) {
      await fill(journal, 700);
      await world.clock.advance(5_000);
      const cause = { event: `e-${round}`, turn: `t-${round}` };
      const body = checkpointBody(refOf(round), { trigger: 'turn-done', cause });
      const { seq } = await journal.append({ type: 'WorkspaceCheckpointed', id: `c-${round}`, body });
      expected.push({
        seq,
        id: `c-${round}`,
        ref: refOf(round),
        trigger: 'turn-done',
        cause,
        consistency: 'quiescent',
        time: world.clock.now(),
        stats: (body as { stats: unknown }).stats,
      });
      await journal.close();
      journal = await store.open(id);
      expect(await journal.checkpoints()).toEqual(expected);
    }
    const kinds = (await collect(journal.records())).map((record) => record.kind);
    expect(kinds.filter((kind) => kind === 'index').length).toBeGreaterThanOrEqual(3);
    expect(await journal.verify()).toMatchObject({ records: journal.tip, events: 3_505 });
    expect((await journal.neededRefs()).map(({ ref, reason }) => [ref, reason])).toEqual(
      [0, 1, 2, 3, 4].map((round) => [refOf(round), 'checkpoint']),
    );
    await journal.close();
  });
});

describe('the checkpoint of a turn', () => {
  it('is the last that names it, else the first after its end and before another turn', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    const turn = async (name: string, end: 'TurnDone' | 'TurnInterrupted' | undefined): Promise<void> => {
      await journal.append({ type: 'TurnStarted', body: { turn: name, loop: 'l' } });
      if (end !== undefined) await journal.append({ type: end, body: { turn: name, loop: 'l' } });
    };
    const checkpoint = async (label: number, more: object = {}): Promise<void> => {
      await journal.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(label), more) });
    };
    await checkpoint(1);
    await turn('a', undefined);
    await checkpoint(2, { trigger: 'step-done', cause: { event: 'x', turn: 'a' } });
    await journal.append({ type: 'TurnDone', body: { turn: 'a', loop: 'l' } });
    await checkpoint(3, { trigger: 'turn-done', cause: { event: 'y', turn: 'a' } });
    await checkpoint(4);
    await turn('b', 'TurnDone');
    await checkpoint(5, { trigger: 'idle' });
    await checkpoint(6);
    await turn('c', 'TurnDone');
    await turn('d', 'TurnInterrupted');
    await checkpoint(7, { trigger: 'interrupt', cause: { turn: 'd' } });
    await turn('e', 'TurnDone');
    const labels = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'nobody'].map(async (name) => (await journal.checkpointForTurn(name))?.ref),
    );
    expect(labels).toEqual([refOf(3), refOf(5), undefined, refOf(7), undefined, undefined]);
    await journal.close();
  });
});

describe('needed refs', () => {
  it('are all that the journal names, each once, with the first record that names it', async () => {
    const world = new World();
    const store = await world.store();
    const journal = await store.create({ id });
    await journal.append({ type: 'SessionStarted', body: { seed: refOf(1) } });
    await journal.append({
      type: 'WorkspaceCheckpointed',
      body: checkpointBody(refOf(1), { trigger: 'seed' }),
    });
    await journal.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(2)) });
    const started = {
      restoreId: 'r',
      ref: refOf(9),
      previousRef: refOf(2),
      safetyRef: refOf(3),
      strategy: 's',
    };
    await journal.appendPrivate({ type: 'restore-started', body: started });
    await journal.appendPrivate({ type: 'restore-aborted', body: { restoreId: 'r' } });
    await journal.append({ type: 'WorkspaceRestored', body: { ref: refOf(8) } });
    expect(await journal.neededRefs()).toEqual([
      { ref: refOf(1), seq: 2, reason: 'restore-or-seed' },
      { ref: refOf(2), seq: 4, reason: 'checkpoint' },
      { ref: refOf(9), seq: 5, reason: 'restore-or-seed' },
      { ref: refOf(3), seq: 5, reason: 'restore-or-seed' },
      { ref: refOf(8), seq: 7, reason: 'restored' },
    ]);
    await journal.close();
    expect((await collect(store.refs(id))).toSorted()).toEqual([1, 2, 3, 8, 9].map(refOf));
  });
});

describe('index records', () => {
  it('that are too large go to the blob store like any body', async () => {
    const world = new World();
    const store = await world.store();
    let journal = await store.create({ id });
    const long = (index: number): string => `${String(index).padStart(6, '0')}-${'x'.repeat(110)}`;
    for (let at = 0; at < 2_100; at += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          journal.append({
            type: 'WorkspaceCheckpointed',
            id: long(at + index),
            body: checkpointBody(refOf(at + index), { trigger: 'idle', cause: { event: 'y'.repeat(100) } }),
          }),
        ),
      );
    }
    const pointers = (await collect(journal.records())).filter(
      (record) => record.kind === 'index' && record.offloaded,
    );
    expect(pointers.length).toBeGreaterThan(0);
    await journal.close();
    journal = await store.open(id);
    expect((await journal.checkpoints()).length).toBe(2_100);
    expect(
      (
        await journal.append({
          type: 'WorkspaceCheckpointed',
          id: long(5),
          body: checkpointBody(refOf(5), { trigger: 'idle', cause: { event: 'y'.repeat(100) } }),
        })
      ).seq,
    ).toBe(7);
    await journal.verify();
    await journal.close();
  });

  it('of another fold version are passed over: the journal is replayed', async () => {
    const world = new World({ notes: false });
    const store = await world.store();
    const journal = await store.create({ id });
    await journal.append({ type: 'WorkspaceCheckpointed', id: 'first', body: checkpointBody(refOf(1)) });
    await fill(journal, 2_500);
    const { fold, tip } = journal;
    await journal.close();
    const kinds = world
      .stored(id)
      .map((bytes) => (JSON.parse(new TextDecoder().decode(bytes.subarray(65))) as { kind: string }).kind);
    const indexes = kinds.flatMap((kind, index) => (kind === 'index' ? [index + 1] : []));
    expect(indexes.length).toBe(2);
    for (const version of [indexes, indexes.slice(0, 1)]) {
      const copy = new World({ notes: false });
      const other = await copy.store();
      await (await other.create({ id })).close();
      const records = world.stored(id).map((bytes) => Uint8Array.from(bytes));
      for (const seq of version) {
        sealed(records, seq, (record) => ({
          ...record,
          body: { ...(record['body'] as object), foldVersion: 99 },
        }));
      }
      // The chain of index records names digests: the second one must name the first one as it is now.
      if (version.length === 1) {
        const digest = new TextDecoder().decode(
          (records[(indexes[0] as number) - 1] as Uint8Array).subarray(0, 64),
        );
        sealed(records, indexes[1] as number, (record) => ({
          ...record,
          body: { ...(record['body'] as object), previousDigest: digest },
        }));
      }
      copy.stored(id).splice(0, 1, ...records);
      const view = await other.read(id);
      expect({ ...view.fold }).toEqual({ ...fold });
      expect(view.tip).toBe(tip);
      expect((await view.checkpoints()).map((checkpoint) => checkpoint.id)).toEqual(['first']);
      await view.close();
    }
  });

  it('that were written anew are found by the next one', async () => {
    const world = new World({ notes: false });
    const store = await world.store();
    const journal = await store.create({ id });
    await fill(journal, 6_000);
    await journal.close();
    const at =
      world.stored(id).findIndex((bytes) => new TextDecoder().decode(bytes).includes('"kind":"index"')) + 1;
    const alone = world.stored(id).slice(0, at);
    sealed(alone, at, (record) => ({
      ...record,
      body: { ...(record['body'] as object), facts: [] },
      time: 1,
    }));
    world.stored(id)[at - 1] = alone[at - 1] as Uint8Array;
    const view = await store.read(id);
    expect(await failureOf(view.checkpoints())).toMatchObject({ kind: 'chain-broken', seq: at });
    await view.close();
  });

  it('that do not say what the records say are found by a full check, and damaged ones by opening', async () => {
    const world = new World({ notes: false });
    const store = await world.store();
    const journal = await store.create({ id });
    await fill(journal, 1_100);
    await journal.close();
    const at =
      world.stored(id).findIndex((bytes) => new TextDecoder().decode(bytes).includes('"kind":"index"')) + 1;
    sealed(world.stored(id), at, (record) => ({
      ...record,
      body: {
        ...(record['body'] as object),
        fold: { ...(record['body'] as { fold: object }).fold, title: 'forged' },
      },
    }));
    const view = await store.read(id);
    expect(view.fold.title).toBe('forged');
    expect(await failureOf(view.verify())).toMatchObject({ kind: 'index-invalid', seq: at });
    await view.close();
    sealed(world.stored(id), at, (record) => ({ ...record, body: { foldVersion: 1 } }));
    const error = (await failureOf(store.read(id))) as JournalCorruptError;
    expect([error.kind, error.seq]).toEqual(['index-invalid', at]);
  });
});

import { AppendVerifyError } from '@holdfast/journal';
import { describe, expect, it } from 'vitest';

import { eventsOf, failureOf, World } from './support/world.js';

const id = 'session-0001';

describe('an append whose reply was lost', () => {
  it('says so when the outcome stays unknown, and another event works after it landed', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    // The first try and the retry are lost on the way, and nothing can be read back.
    world.faults?.arm({ operation: 'append', kind: 'landed' });
    world.faults?.arm({ operation: 'tip', kind: 'error', times: 1 });
    const error = (await failureOf(
      journal.append({ type: 'note', id: 'lost', body: 'lost' }),
    )) as AppendVerifyError;
    expect(AppendVerifyError.is(error)).toBe(true);
    expect(error.effect).toBe('unknown');
    const next = await journal.append({ type: 'note', id: 'next', body: 'next' });
    expect((await eventsOf(journal)).map((event) => event.body)).toEqual(['lost', 'next']);
    // The lost one is known by now.
    expect((await journal.append({ type: 'note', id: 'lost', body: 'lost' })).seq).toBe(next.seq - 1);
    await journal.close();
  });

  it('goes on correctly when an append arrives late, before or after the next one', async () => {
    for (const when of ['before', 'after'] as const) {
      const world = new World();
      const journal = await (await world.store()).create({ id });
      world.faults?.arm({ operation: 'append', kind: 'late' });
      world.faults?.arm({ operation: 'append', kind: 'not-landed' });
      const lost = journal.append({ type: 'note', id: 'late', body: 'late' });
      expect(AppendVerifyError.is(await failureOf(lost))).toBe(true);
      if (when === 'before') await world.faults?.deliver();
      await journal.append({ type: 'note', id: 'next', body: 'next' });
      if (when === 'after') await world.faults?.deliver();
      await journal.append({ type: 'note', id: 'last', body: 'last' });
      const bodies = (await eventsOf(journal)).map((event) => event.body);
      expect(bodies).toEqual(when === 'before' ? ['late', 'next', 'last'] : ['next', 'last']);
      expect(await journal.verify()).toMatchObject({ events: bodies.length });
      await journal.close();
    }
  });

  it('takes in a late append that arrives between the look and the next append', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    world.faults?.arm({ operation: 'append', kind: 'late' });
    world.faults?.arm({ operation: 'append', kind: 'not-landed' });
    await failureOf(journal.append({ type: 'note', id: 'late', body: 'late' }));
    const { faults } = world;
    // Delivered inside the next append: after the journal has looked at the tip.
    const append = faults?.append.bind(faults);
    Object.assign(faults as object, {
      append: async (...call: Parameters<NonNullable<typeof append>>) => {
        await faults?.deliver();
        await append?.(...call);
      },
    });
    await journal.append({ type: 'note', id: 'next', body: 'next' });
    expect((await eventsOf(journal)).map((event) => event.body)).toEqual(['late', 'next']);
    await journal.close();
  });

  it('takes in the rest of a lost batch whose first event was repeated alone', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    // The batch lands, its reply is lost, and nothing can be read back.
    world.faults?.arm({ operation: 'append', kind: 'landed' });
    world.faults?.arm({ operation: 'append', kind: 'not-landed' });
    world.faults?.arm({ operation: 'tip', kind: 'error' });
    const batch = journal.appendBatch([
      { kind: 'event', type: 'note', id: 'first', body: 1 },
      { kind: 'event', type: 'note', id: 'second', body: 2 },
    ]);
    expect(AppendVerifyError.is(await failureOf(batch))).toBe(true);
    // In the same millisecond: byte for byte the first record of the batch, so reading back finds it written.
    world.faults?.arm({ operation: 'append', kind: 'not-landed' });
    const { seq } = await journal.append({ type: 'note', id: 'first', body: 1 });
    const next = await journal.append({ type: 'note', id: 'third', body: 3 });
    expect((await eventsOf(journal)).map((event) => event.body)).toEqual([1, 2, 3]);
    expect((await journal.append({ type: 'note', id: 'second', body: 2 })).seq).toBe(seq + 1);
    expect(next.seq).toBe(seq + 2);
    expect(await journal.verify()).toMatchObject({ events: 3 });
    await journal.close();
  });
});

import { findCause, yieldToEventLoop } from '@holdfast/base';
import {
  JournalEpochError,
  JournalFencedError,
  type SessionJournal,
  type SessionLedgers,
  SessionStore,
  sessionLeaseName,
} from '@holdfast/journal';
import { LeaseHeldError, LeaseLostError, Leaser } from '@holdfast/lease';
import { describe, expect, it } from 'vitest';

import { checkpointBody, collect, eventsOf, failureOf, refOf, World } from './support/world.js';

const id = 'session-0001';

describe('fencing', () => {
  it('shuts a predecessor out for good, whatever it tries', async () => {
    const world = new World({ notes: false });
    const first = await (await world.store()).create({ id });
    await first.append({ type: 'note', body: 1 });
    world.cutOff(id);
    const second = await (await world.store()).open(id);
    expect(second.epoch).toBeGreaterThan(first.epoch);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(JournalFencedError.is(await failureOf(first.append({ type: 'note', body: 'stale' })))).toBe(
        true,
      );
    }
    expect(first.signal.aborted).toBe(true);
    expect(JournalFencedError.is(first.signal.reason)).toBe(true);
    await second.append({ type: 'note', body: 2 });
    expect(await eventsOf(second)).toEqual([
      { type: 'note', body: 1 },
      { type: 'note', body: 2 },
    ]);
    await first.close();
    // Closing the old one frees nothing of the new one.
    expect(LeaseHeldError.is(await failureOf((await world.store()).open(id)))).toBe(true);
    await second.append({ type: 'note', body: 3 });
    await second.close();
  });

  it('opens all the same when the predecessor appends meanwhile', async () => {
    const world = new World({ notes: false });
    const first = await (await world.store()).create({ id });
    world.cutOff(id);
    const store = await world.store();
    let landed = 0;
    const opening = store.open(id);
    for (; landed < 5_000; landed += 1) {
      try {
        await first.append({ type: 'note', body: landed });
        // As slow as a real engine; one that is faster than a read can keep everybody out.
        await yieldToEventLoop();
      } catch (error) {
        expect(JournalFencedError.is(error)).toBe(true);
        break;
      }
    }
    const second = await opening;
    const bodies = (await eventsOf(second)).map((event) => event.body);
    expect(bodies).toEqual(Array.from({ length: landed }, (_, index) => index));
    expect(landed).toBeLessThan(5_000);
    await Promise.all([first.close(), second.close()]);
  });

  it('refuses an opener whose leases are not those of the others', async () => {
    const world = new World();
    const store = await world.store();
    await (await store.create({ id })).close();
    const { driver } = new World().leaser();
    let raised = 0;
    // Whenever this opener has its lease, another one has raised the fence under the other leases.
    const overtaken = new Proxy(driver, {
      get: (target, name) => {
        if (name !== 'acquire') {
          const value = Reflect.get(target, name, target) as unknown;
          return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
        }
        return async (...call: Parameters<typeof driver.acquire>) => {
          const grant = await target.acquire(...call);
          while (raised < grant.epoch + 1) {
            const other = await store.open(id);
            raised = other.epoch;
            await other.close();
          }
          return grant;
        };
      },
    });
    const opener = await world.store(new Leaser(overtaken));
    const error = (await failureOf(opener.open(id, { adopt: true }))) as JournalEpochError;
    expect(JournalEpochError.is(error)).toBe(true);
    expect([error.leaseEpoch, error.fenceEpoch]).toEqual([3, 4]);
    // The refusal gave the lease back.
    expect(JournalEpochError.is(await failureOf(opener.open(id, { adopt: true })))).toBe(true);
    await (await store.open(id)).close();
  });

  it('goes on under reset leases when it is told to adopt, and only then', async () => {
    const world = new World();
    await (await (await world.store()).create({ id })).close();
    await (await (await world.store()).open(id)).close();
    const reset = await world.store(new World().leaser());
    expect(JournalEpochError.is(await failureOf(reset.open(id)))).toBe(true);
    const journal = await reset.open(id, { adopt: true });
    expect(journal.epoch).toBe(3);
    await journal.append({ type: 'note', body: 1 });
    await journal.close();
    // From there on the leases know the journal.
    const next = await reset.open(id);
    expect(next.epoch).toBe(4);
    await next.close();
  });

  it('says who was faster when the lease is taken over between its grant and the first look', async () => {
    const world = new World({ notes: false });
    await (await (await world.store()).create({ id })).close();
    const other = await world.store();
    const slow = await SessionStore.open({
      ledgers: {
        ...world.ledgers(),
        // After the lease was granted, before anything was read: where a process may be stopped for long.
        open: async (...call) => {
          world.cutOff(id);
          await (await other.open(id)).close();
          return await world.ledgers().open(...call);
        },
      },
      leaser: world.leaser(),
      blobs: world.blobs,
    });
    const error = (await failureOf(slow.open(id))) as JournalFencedError;
    expect(JournalFencedError.is(error)).toBe(true);
    expect([error.epoch, error.fencedBy]).toEqual([2, 3]);
    expect(findCause(error, LeaseLostError)).toBeDefined();
    await (await other.open(id)).close();
  });

  it('ends a deletion that was overtaken, before it takes what the next owner has', async () => {
    const world = new World();
    const inner = world.ledgers();
    let next: SessionJournal | undefined;
    const overtaken: SessionLedgers = {
      ...inner,
      delete: async (...call) => {
        await inner.delete(...call);
        world.cutOff(id);
        next = await (await world.store()).create({ id });
        await next.append({ type: 'large', body: 'x'.repeat(600_000) });
      },
    };
    const { blobs, clock, random } = world;
    const store = await SessionStore.open({
      ledgers: overtaken,
      leaser: world.leaser(),
      blobs,
      clock,
      random,
    });
    const first = await store.create({ id });
    await first.append({ type: 'large', body: 'y'.repeat(600_000) });
    await first.close();
    expect(LeaseLostError.is(await failureOf(store.delete(id)))).toBe(true);
    if (next === undefined) throw new Error('nobody overtook it');
    expect(await eventsOf(next)).toEqual([{ type: 'large', body: 'x'.repeat(600_000) }]);
    await next.close();
  });

  it('stops writing as soon as the lease is lost, before anybody else came', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id });
    await journal.append({ type: 'note', body: 1 });
    const before = world.stored(id).length;
    world.leases.expire(sessionLeaseName(id));
    expect(journal.signal.aborted).toBe(true);
    const error = await failureOf(journal.append({ type: 'note', body: 2 }));
    expect(LeaseLostError.is(error)).toBe(true);
    expect(error).toBe(journal.signal.reason);
    const notes = new Map(world.storage.notes);
    await world.clock.advance(5_000);
    await journal.close();
    expect(world.stored(id).length).toBe(before);
    expect(world.storage.notes).toEqual(notes);
  });

  it.each([
    [['landed'], [{ operation: 'tip', kind: 'error', after: 4 }]],
    [['not-landed', 'not-landed'], []],
    [['late', 'not-landed'], []],
    [['landed'], []],
  ] as const)('opens although the reply to its fence was lost (%s)', async (kinds, others) => {
    const world = new World();
    const store = await world.store();
    await (await store.create({ id })).close();
    for (const kind of kinds) world.nextFaults.push({ operation: 'append', kind });
    world.nextFaults.push(...others);
    const journal = await store.open(id);
    await world.faults?.deliver();
    await journal.append({ type: 'note', body: 1 });
    expect((await collect(journal.records())).map((record) => record.kind)).toEqual([
      'fence',
      'fence',
      'event',
    ]);
    await journal.close();
  });

  it('does not overwrite the notes of a later owner', async () => {
    const world = new World();
    const first = await (await world.store()).create({ id });
    await first.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(1)) });
    world.cutOff(id);
    const second = await (await world.store()).open(id);
    await second.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(2)) });
    const stale = first.append({ type: 'WorkspaceCheckpointed', body: checkpointBody(refOf(3)) });
    expect(JournalFencedError.is(await failureOf(stale))).toBe(true);
    expect(await collect((await world.store()).refs(id))).toEqual([refOf(1), refOf(2)]);
    await first.close();
    await second.close();
    expect(await collect((await world.store()).refs(id))).toEqual([refOf(1), refOf(2)]);
  });
});

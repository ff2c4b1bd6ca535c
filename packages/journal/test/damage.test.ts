import { JournalCorruptError } from '@holdfast/journal';
import { describe, expect, it } from 'vitest';

import { checkpointBody, collect, refOf, World } from './support/world.js';

const id = 'session-0001';

/** Opens, reads everything, and says what was found: the bodies, or the code of the typed refusal. */
async function outcomeOf(world: World): Promise<unknown> {
  const store = await world.store();
  try {
    const view = await store.read(id);
    try {
      await view.verify();
      return (await collect(view.events())).map((event) => event.body);
    } finally {
      await view.close();
    }
  } catch (error) {
    if (JournalCorruptError.is(error)) return 'corrupt';
    throw error;
  }
}

describe('damage of a small journal', () => {
  it('every flipped bit and every truncation of every record and of the refs note is found', async () => {
    const world = new World();
    const journal = await (await world.store()).create({ id, title: 't' });
    for (let index = 0; index < 2; index += 1) await journal.append({ type: 'note', body: { index } });
    await journal.append({ type: 'WorkspaceCheckpointed', id: 'c', body: checkpointBody(refOf(1)) });
    await journal.close();
    const whole = await outcomeOf(world);
    expect(whole).toHaveLength(3);
    const stored = world.stored(id);
    const files: { readonly get: () => Uint8Array; readonly set: (bytes: Uint8Array) => void }[] = stored.map(
      (_, index) => ({
        get: () => stored[index] as Uint8Array,
        set: (bytes: Uint8Array) => {
          stored[index] = bytes;
        },
      }),
    );
    const key = `${id}/refs`;
    files.push({
      get: () => world.storage.notes.get(key) as Uint8Array,
      set: (bytes: Uint8Array) => {
        world.storage.notes.set(key, bytes);
      },
    });
    let cases = 0;
    for (const file of files) {
      const kept = file.get();
      for (let bit = 0; bit < kept.length * 8; bit += 1) {
        const flipped = Uint8Array.from(kept);
        flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
        file.set(flipped);
        expect(await outcomeOf(world)).toBe('corrupt');
        cases += 1;
      }
      for (let length = 0; length < kept.length; length += 1) {
        file.set(kept.slice(0, length));
        expect(await outcomeOf(world)).toBe('corrupt');
        cases += 1;
      }
      file.set(kept);
    }
    for (let count = 0; count < stored.length; count += 1) {
      const removed = stored.splice(count);
      expect(await outcomeOf(world)).toBe('corrupt');
      stored.push(...removed);
    }
    expect(await outcomeOf(world)).toEqual(whole);
    expect(cases).toBeGreaterThan(15_000);
  });

  it('a record of another session, or of another place, is found', async () => {
    const world = new World({ notes: false });
    const store = await world.store();
    for (const name of [id, 'session-0002']) {
      const journal = await store.create({ id: name });
      for (let index = 0; index < 3; index += 1) await journal.append({ type: 'note', body: index });
      await journal.close();
    }
    const [mine, other] = [world.stored(id), world.stored('session-0002')];
    const kept = [...mine];
    mine.splice(0, mine.length, ...other);
    expect(await outcomeOf(world)).toBe('corrupt');
    for (let at = 0; at < kept.length; at += 1) {
      mine.splice(0, mine.length, ...kept);
      mine[at] = other[at] as Uint8Array;
      expect(await outcomeOf(world)).toBe('corrupt');
    }
  });
});

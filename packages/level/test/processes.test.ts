import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import { OwnerProcess } from './support/child.js';
import { removeTemporaryDirectories, temporaryDirectory } from './support/level-harness.js';

afterEach(removeTemporaryDirectories);

const id = 'session-0001';

describe('several processes', () => {
  it('a second one is refused and told who has it; a killed owner is followed at once, with everything acknowledged', async () => {
    const directory = temporaryDirectory();
    let acknowledged = 0;
    for (let round = 0; round < 4; round += 1) {
      await using owner = new OwnerProcess(directory, id, round * 2);
      expect(await owner.next()).toMatchObject({ opened: true, events: acknowledged });
      await using second = new OwnerProcess(directory, id, round * 2 + 1);
      expect(await second.next()).toMatchObject({ code: 'JOURNAL_IN_USE', owner: { pid: owner.child.pid } });
      for (let count = 0; count < 5 + round * 7; count += 1) {
        owner.send(String(acknowledged));
        expect(await owner.next()).toMatchObject({ acknowledged: String(acknowledged) });
        acknowledged += 1;
      }
      if (round === 2) {
        owner.send('close');
        expect(await owner.next()).toEqual({ closed: true });
        await owner.next();
        expect(existsSync(join(directory, id, 'owner'))).toBe(false);
      } else {
        // In the middle of further appends, of which some may be acknowledged on the way.
        for (let extra = 0; extra < 20; extra += 1) owner.send(`extra-${round}-${extra}`);
        await owner.end('SIGKILL');
        for (let message = await owner.next(); message !== undefined; message = await owner.next())
          acknowledged += 1;
        expect(JSON.parse(readFileSync(join(directory, id, 'owner'), 'utf8'))).toMatchObject({
          pid: owner.child.pid,
        });
        // What was durable and not yet acknowledged counts too: look it up.
        await using reader = new OwnerProcess(directory, id, round * 2 + 1);
        const opened = (await reader.next()) as { events: number };
        expect(opened.events).toBeGreaterThanOrEqual(acknowledged);
        expect(opened.events).toBeLessThanOrEqual(acknowledged + 20);
        acknowledged = opened.events;
        reader.send('close');
        await reader.next();
      }
    }
  });

  it('a stopped owner is not taken over until it is killed', async () => {
    const directory = temporaryDirectory();
    await using owner = new OwnerProcess(directory, id, 0);
    expect(await owner.next()).toMatchObject({ opened: true });
    owner.child.kill('SIGSTOP');
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await using second = new OwnerProcess(directory, id, attempt);
      expect(await second.next()).toMatchObject({ code: 'JOURNAL_IN_USE', owner: { pid: owner.child.pid } });
    }
    await owner.end('SIGKILL');
    await using third = new OwnerProcess(directory, id, 3);
    expect(await third.next()).toMatchObject({ opened: true });
  });
});

import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { openFsBlobs } from '@holdfast/blobs/fs';
import { collect } from '@holdfast/blobs/testing';
import { afterAll, describe, expect, it } from 'vitest';

const base = mkdtempSync(join(tmpdir(), 'holdfast-blobs-processes-'));
afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

const script = fileURLToPath(new URL('fixtures/put-many.mjs', import.meta.url));
const text = async (store: Awaited<ReturnType<typeof openFsBlobs>>, key: string): Promise<string> =>
  Buffer.from(await store.getBytes(key)).toString();

describe('several processes on one directory', () => {
  it('have exactly one winner per key, and all succeed with equal content', async () => {
    const directory = join(base, 'contested');
    const count = 60;
    const run = promisify(execFile);
    const outcomes = await Promise.all(
      ['one', 'two', 'three'].map(
        async (name) =>
          JSON.parse((await run(process.execPath, [script, directory, name, String(count)])).stdout) as {
            won: number;
            lost: number;
          },
      ),
    );
    expect(outcomes.reduce((sum, outcome) => sum + outcome.won, 0)).toBe(count);
    expect(outcomes.reduce((sum, outcome) => sum + outcome.lost, 0)).toBe(count * 2);
    const store = await openFsBlobs(directory);
    for (let i = 0; i < count; i += 1) {
      expect(['one', 'two', 'three'].map((name) => `${name} ${i}`.repeat(2000))).toContain(
        await text(store, `contested/${i}`),
      );
      expect(await text(store, `shared/${i}`)).toBe(`the same ${i}`);
    }
    expect(await collect(store.list())).toHaveLength(count * 2);
    await store.close();
  });

  it('leave whole objects or none when they are killed', async () => {
    const directory = join(base, 'killed');
    for (let round = 0; round < 4; round += 1) {
      const child = spawn(process.execPath, [script, directory, `round ${round}`, '100000'], {
        stdio: 'ignore',
      });
      const store = await openFsBlobs(directory);
      const wanted = (round + 1) * 15;
      while ((await collect(store.list())).length < wanted)
        await new Promise((resolve) => setImmediate(resolve));
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('exit', resolve));
      for (const { key, size } of await collect(store.list())) {
        const content = await text(store, key);
        expect(content.length).toBe(size);
        const [, index] = key.split('/') as [string, string];
        const whole = key.startsWith('shared/')
          ? [`the same ${index}`]
          : [0, 1, 2, 3].map((past) => `round ${past} ${index}`.repeat(2000));
        expect(whole).toContain(content);
      }
      await store.close();
    }
  });
});

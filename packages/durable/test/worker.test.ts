import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import { readTree, writeTree } from '@holdfast/durable/testing';
import { expect, it } from 'vitest';

import { onRealDisks } from './support/disks.js';

onRealDisks('a worker', (disk) => {
  it('runs recipes synchronously, beside the thread that has its own handles', async () => {
    writeTree(disk().fileSystem, disk().path, { 'tree/a': 'x', kept: 'x' });
    const worker = new Worker(fileURLToPath(new URL('fixtures/worker.mjs', import.meta.url)), {
      workerData: disk().path,
      execArgv: [],
    });
    const exited = once(worker, 'exit');
    const answers: unknown[] = [];
    worker.on('message', (answer) => answers.push(answer));
    expect(await exited).toEqual([0]);
    expect(answers[0]).toEqual({ created: true, removed: true });
    expect(readTree(disk().fileSystem, disk().path)).toEqual({
      'from-worker': 'file 600 "x"',
      kept: 'file 600 "x"',
    });
  });
});

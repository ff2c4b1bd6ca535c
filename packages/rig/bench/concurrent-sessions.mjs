/**
 * Many sessions in one process, each with a checkpoint after every step: event-loop delay, memory, descriptors, times.
 * Build first (`npx tsc -b packages/rig`), then: node bench/concurrent-sessions.mjs [sessions] [steps]
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { openFsBlobs } from '@holdfast/blobs/fs';
import { memorySessionLedgers, SessionStore } from '@holdfast/journal';
import { memoryLeaser } from '@holdfast/lease';
import { defineRig, sessionWorkspaces } from '@holdfast/rig';
import { defineLoop } from '@holdfast/session';
import { WorkspaceStore } from '@holdfast/workspacestore';

const sessions = Number(process.argv[2] ?? 200);
const steps = Number(process.argv[3] ?? 10);
const place = mkdtempSync(path.join(tmpdir(), 'holdfast-bench-'));
const base = path.join(place, 'sessions');
const descriptors = () => readdirSync('/proc/self/fd').length;

const blobs = await openFsBlobs(path.join(place, 'blobs'));
const sessionStore = await SessionStore.open({
  ledgers: memorySessionLedgers(),
  leaser: memoryLeaser(),
  blobs,
});
const store = await WorkspaceStore.open(blobs);
const agent = defineLoop({
  name: 'agent',
  turn: async ({ session, step }) => {
    for (let count = 0; count < steps; count += 1) {
      await step(async () => {
        writeFileSync(path.join(base, session.id, `file-${count % 5}.txt`), `${session.id} ${count}`);
        await Promise.resolve();
      });
    }
  },
});
const rig = defineRig({
  loops: [agent],
  sessionStore,
  workspace: sessionWorkspaces(store, base),
  snapshots: { trigger: 'step-done', priority: 'required' },
});

const before = descriptors();
const started = performance.now();
const controllers = await Promise.all(Array.from({ length: sessions }, async () => await rig.newSession()));
const opened = performance.now();
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
let most = 0;
const watch = setInterval(() => {
  most = Math.max(most, descriptors());
}, 50);
await Promise.all(
  controllers.map(async (controller) => {
    const { outcome } = await controller.submit(null);
    const ended = await outcome;
    if (ended.status !== 'done') throw new Error(`a turn ended as ${ended.status}`);
  }),
);
const worked = performance.now();
delay.disable();
clearInterval(watch);
for (const controller of controllers) {
  const checkpoints = await controller.checkpoints();
  if (checkpoints.length !== steps) throw new Error(`${controller.id} has ${checkpoints.length} checkpoints`);
}
await Promise.all(controllers.map(async (controller) => await controller.shutdown()));
const ended = performance.now();
const total = sessions * steps;
const lines = [
  `${sessions} sessions opened in ${Math.round(opened - started)} ms, ended in ${Math.round(ended - worked)} ms`,
  `${total} checkpoints in ${Math.round(worked - opened)} ms: ${((worked - opened) / total).toFixed(1)} ms each`,
  `event loop delay: p50 ${(delay.percentile(50) / 1e6).toFixed(1)} ms, p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, most ${(delay.max / 1e6).toFixed(1)} ms`,
  `resident memory ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB; descriptors ${before} before, at most ${most}, ${descriptors()} after`,
];
process.stdout.write(`${lines.join('\n')}\n`);
await store.close();
await sessionStore.close();
await blobs.close();
rmSync(place, { recursive: true, force: true });

// Prints what appends, openings and reads cost on this machine. Informs, gates nothing: node packages/level/bench/journal.bench.mjs [records]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SessionStore } from '@holdfast/journal';
import { memorySessionParts } from '@holdfast/journal/testing';
import { openLevelLedgers } from '@holdfast/level';
import { Level } from 'level';

const records = Number(process.argv[2] ?? 100_000);
const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
const stats = { entries: 1, files: 1, bytes: 1, filesRead: 1, bytesRead: 1, bytesStored: 1, durationMs: 1 };
const body = { text: 'what an agent says between two tool calls, about this long; '.repeat(4) };
/** @type {[what: string, figure: string][]} */
const rows = [];
/** @param {readonly number[]} times */
const median = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
/** @param {() => Promise<unknown>} work */
const time = async (work) => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};
/** @param {string} what @param {number} milliseconds */
const row = (what, milliseconds) => rows.push([what, `${milliseconds.toFixed(3)} ms`]);

try {
  const engine = new Level(join(directory, 'engine'), { keyEncoding: 'view', valueEncoding: 'view' });
  const value = new TextEncoder().encode(JSON.stringify(body));
  const puts = [];
  for (let index = 0; index < 300; index += 1) {
    const key = new Uint8Array(8);
    new DataView(key.buffer).setBigUint64(0, BigInt(index));
    puts.push(await time(() => engine.put(key, value, { sync: true })));
  }
  await engine.close();
  row("the engine's own synced write, median", median(puts));

  const ledgers = await openLevelLedgers(join(directory, 'sessions'));
  const parts = memorySessionParts({ ledgers });
  const store = await SessionStore.open(parts);
  const journal = await store.create();
  const appends = [];
  for (let index = 0; index < 300; index += 1) {
    appends.push(await time(() => journal.append({ type: 'note', body })));
  }
  row('append of an event, median', median(appends));
  const checkpoints = [];
  for (let index = 0; index < 50; index += 1) {
    const ref = `v1:sha256:${index.toString(16).padStart(64, '0')}`;
    const coverage = { omitted: [], dropped: [], raced: [] };
    const checkpoint = { ref, consistency: 'quiescent', trigger: 'manual', stats, coverage };
    checkpoints.push(await time(() => journal.append({ type: 'WorkspaceCheckpointed', body: checkpoint })));
  }
  row('append of a checkpoint, with its note, median', median(checkpoints));
  const bulk = await time(async () => {
    for (let at = journal.tip; at < records; at += 500) {
      await Promise.all(Array.from({ length: 500 }, () => journal.append({ type: 'note', body })));
    }
  });
  row('append, 500 at once, each', bulk / (records - 350));
  const { id } = journal;
  await journal.close();

  const opens = [];
  for (let round = 0; round < 9; round += 1) {
    const start = performance.now();
    const opened = await store.open(id);
    opens.push(performance.now() - start);
    await opened.close();
  }
  row(`open a session of ${records} records, median of 9`, median(opens));
  row('the slowest of them', Math.max(...opens));
  const again = await store.open(id);
  row('its checkpoints', await time(() => again.checkpoints()));
  let events = 0;
  const read = await time(async () => {
    for await (const event of again.events()) events += event.seq > 0 ? 1 : 0;
  });
  row(`read and check ${events} events, each`, read / events);
  await again.close();
  await ledgers.close();
  for (const [what, figure] of rows) console.log(`${String(figure).padStart(12)}  ${what}`);
  console.log(`${(process.memoryUsage.rss() / 1_048_576).toFixed(0).padStart(8)} MiB  resident at the end`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

#!/usr/bin/env node
/** Puts the tables of `docs/guides/scale.md` in again, out of `measurements.json`. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { repositoryRoot } from '../shared/workspace.mjs';
import { generator, lostInOutage, table } from './simulate.mjs';

const page = path.join(repositoryRoot, 'docs/guides/scale.md');
/** @type {{ syncMs: import('./simulate.mjs').Times, session: import('./simulate.mjs').SessionCost, engines: Record<string, import('./simulate.mjs').EngineCost> }} */
const measured = JSON.parse(readFileSync(new URL('measurements.json', import.meta.url), 'utf8'));
const { session, engines, syncMs } = measured;

/** @type {Record<string, string[]>} By the heading after which the table stands. */
const tables = {
  '## What a session costs': [
    '| a turn with its checkpoint | |',
    '| --- | --- |',
    `| appends to the journal | ${session.appendsPerTurn} |`,
    `| bytes in the journal | ${session.journalBytesPerTurn} |`,
    `| objects put into the blobs | ${session.putsPerTurn} |`,
    `| bytes in the blobs | ${session.blobBytesPerTurn} |`,
  ],
  '## What an engine does': [
    '| engine | append | appends a second | renew | acquire and release | read 100 records |',
    '| --- | --- | --- | --- | --- | --- |',
    `| the disk itself (\`fdatasync\`) | ${syncMs.p50} / ${syncMs.p95} | | | | |`,
    ...Object.entries(engines).map(
      ([name, cost]) =>
        `| ${name} | ${cost.appendMs.p50} / ${cost.appendMs.p95} | ${cost.appendsPerSecond} | ${cost.renewMs.p50} / ${cost.renewMs.p95} | ` +
        `${cost.acquireAndReleaseMs.p50} / ${cost.acquireAndReleaseMs.p95} | ${cost.read100Ms.p50} |`,
    ),
  ],
  '## One, a hundred, ten thousand hosts': table(measured),
  '## When an engine is away': [
    '| time-to-live | sessions of 1,000 that lose their lease when the engine is away for 10 s |',
    '| --- | --- |',
    ...[15, 20, 30, 60].map(
      (ttlSeconds) =>
        `| ${ttlSeconds} s | ${lostInOutage({ ttlSeconds, outageSeconds: 10, sessions: 1000, random: generator(1) })} |`,
    ),
  ],
};

let text = readFileSync(page, 'utf8');
for (const [heading, rows] of Object.entries(tables)) {
  const at = text.indexOf(`${heading}\n`);
  if (at < 0) throw new Error(`${page} has no heading ${heading}`);
  const rest = text.slice(at);
  const replaced = rest.replace(/^(?:\|.*\n)+|^[A-Z]+$\n/m, `${rows.join('\n')}\n`);
  text = text.slice(0, at) + replaced;
}
writeFileSync(page, text);

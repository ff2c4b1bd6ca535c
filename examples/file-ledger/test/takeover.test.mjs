import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { memoryBlobs } from '@holdfast/blobs';
import { SessionStore, sharedSessionLedgers } from '@holdfast/journal';
import { afterAll, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { openFileLedger } from '../src/file-ledger.mjs';
import { removeDirectories, temporaryDirectory } from '../src/harness.mjs';
import { stealingLeaser } from './fixtures/stealing-leaser.mjs';

afterAll(removeDirectories);

const session = 'session-0001';
const script = fileURLToPath(new URL('fixtures/writer.mjs', import.meta.url));
/** `HOLDFAST_CAMPAIGN=1`: 3,000 take-overs; `HOLDFAST_LEDGER_TAKEOVERS=N`: N. */
const wanted =
  process.env.HOLDFAST_CAMPAIGN === '1' ? 3_000 : Number(process.env.HOLDFAST_LEDGER_TAKEOVERS ?? 60);

/**
 * Lets four writers fight for one session, stopped and killed at random, and reads the journal that they leave.
 * @param {string} [mistaken] Module that opens the ledger of the writers instead of the right one.
 */
async function fight(mistaken) {
  const directory = await temporaryDirectory();
  const open = async () =>
    await SessionStore.open({
      ledgers: sharedSessionLedgers(await openFileLedger(`${directory}/ledger`)),
      leaser: stealingLeaser(`${directory}/leases`),
      blobs: memoryBlobs(),
    });
  await (await (await open()).create({ id: session })).close();

  const acknowledged = [];
  const counts = { opened: 0, fenced: 0, stopped: 0, killed: 0, crowded: 0 };
  const failures = [];
  let writers = 0;
  const start = () => {
    writers += 1;
    const child = spawn(
      process.execPath,
      [script, directory, session, `w${writers}`, ...(mistaken === undefined ? [] : [mistaken])],
      { stdio: 'pipe' },
    );
    let complaint = '';
    child.stderr.on('data', (text) => {
      complaint += String(text);
    });
    const reading = (async () => {
      for await (const line of createInterface({ input: child.stdout })) {
        const message = JSON.parse(line);
        if (message.acknowledged !== undefined) acknowledged.push(message);
        if (message.opened !== undefined) counts.opened += 1;
        if (message.fenced !== undefined) counts.fenced += 1;
        if (message.crowded !== undefined) counts.crowded += 1;
      }
    })();
    const ended = once(child, 'exit').then(() => {
      if (complaint !== '') failures.push(complaint);
    });
    return { child, done: Promise.all([reading, ended]) };
  };

  let running = Array.from({ length: 4 }, start);
  const finished = [];
  const deadline = Date.now() + Math.min(1_500_000, wanted * 5_000);
  while (counts.opened < wanted && Date.now() < deadline && failures.length === 0) {
    const at = Math.floor(Math.random() * running.length);
    const { child } = running[at];
    await sleep(20 + Math.random() * 60);
    if (Math.random() < 0.15) {
      child.kill('SIGKILL');
      counts.killed += 1;
      finished.push(running[at].done);
      running[at] = start();
    } else {
      // Long enough for another one to take the session over; it wakes up in the middle of whatever it was doing.
      child.kill('SIGSTOP');
      counts.stopped += 1;
      await sleep(60 + Math.random() * 250);
      child.kill('SIGCONT');
    }
  }
  for (const { child } of running) {
    child.kill('SIGCONT');
    child.kill('SIGTERM');
  }
  await Promise.all([...finished, ...running.map(({ done }) => done)]);
  running = [];
  const problems = [...failures];
  let records = 0;
  try {
    const view = await (await open()).read(session);
    // Chain, digests, and epochs that never fall: no record of an owner stands behind the fence of a later one.
    ({ records } = await view.verify());
    const places = new Map();
    for await (const event of view.events()) {
      if (places.has(event.id)) problems.push(`${event.id} is there twice`);
      places.set(event.id, event);
    }
    for (const { acknowledged: id, seq, epoch } of acknowledged) {
      const place = places.get(id);
      if (place?.seq !== seq || place?.epoch !== epoch)
        problems.push(
          `${id}: acknowledged at ${seq} (epoch ${epoch}), found ${place?.seq} (${place?.epoch})`,
        );
    }
    await view.close();
  } catch (error) {
    problems.push(String(error));
  }
  return { problems, records, acknowledged: acknowledged.length, ...counts };
}

it('stopped writers that were taken over: every acknowledged append exactly once, no stale one', async () => {
  const { problems, records, acknowledged, ...counts } = await fight();
  expect(problems).toEqual([]);
  countForCampaign('take-overs of the file ledger', counts.opened);
  // The run must have met what it is for.
  expect(counts.opened).toBeGreaterThanOrEqual(wanted / 2);
  expect(counts.fenced).toBeGreaterThan(3);
  expect(counts.stopped).toBeGreaterThan(10);
  expect(acknowledged).toBeGreaterThan(counts.opened);
  console.log(
    `${counts.opened} take-overs, ${counts.fenced} met a fence, ${counts.stopped} stops, ${counts.killed} kills, ` +
      `${acknowledged} acknowledged, ${records} records`,
  );
}, 1_600_000);

it('a planted mistake is found by take-overs: a ledger that appends wherever the end is', async () => {
  const { problems } = await fight(new URL('fixtures/wandering-file-ledger.mjs', import.meta.url).href);
  expect(problems.join('\n')).toMatch(/JOURNAL_CORRUPT|acknowledged at|is there twice|JournalCorruptError/);
}, 1_600_000);

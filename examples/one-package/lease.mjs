// One worker at a time, over several processes; a killed holder is taken over at once, with a higher epoch.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { LeaseHeldError } from '@holdfast/lease';
import { openFsLeaser } from '@holdfast/lease/fs';

if (process.argv[2] !== undefined) {
  const leaser = await openFsLeaser(process.argv[2]);
  const { epoch } = await leaser.acquire('nightly/build', { owner: { title: 'the other process' } });
  console.log(epoch);
  setInterval(() => undefined, 1000); // holds it until it is killed
} else {
  const directory = mkdtempSync(path.join(tmpdir(), 'one-lease-'));
  const program = /** @type {string} */ (process.argv[1]);
  const other = spawn(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = await once(other.stdout, 'data');
  const leaser = await openFsLeaser(directory);
  await assert.rejects(
    leaser.acquire('nightly/build'),
    (error) => LeaseHeldError.is(error) && error.owner?.['title'] === 'the other process',
  );
  other.kill('SIGKILL');
  await once(other, 'close');
  const lease = await leaser.acquire('nightly/build');
  assert.ok(lease.epoch > Number(said));
  await lease.check(); // right before a step that must not happen after a take-over
  await lease.release();
  await leaser.close();
  rmSync(directory, { recursive: true });
}

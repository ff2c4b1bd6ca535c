import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';

import { openFsBlobs } from '@holdfast/blobs/fs';
import { SessionStore } from '@holdfast/journal';
import { prefixedLeaser } from '@holdfast/lease';
import { openFsLeaser } from '@holdfast/lease/fs';
import { openLevelLedgers } from '@holdfast/level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { holdfast, temporaryDirectory } from './run-command.js';

/** A restore that the journal of a root has open, while nothing on the disk knows of it any more. */

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;
let home: string;
let older: string;
let newer: string;

const write = (text: string): void => {
  fs.writeFileSync(join(root, 'file'), text);
};
const snapshot = async (): Promise<string> => {
  const { ref }: { ref: string } = (await holdfast(['snapshot', root, '--home', home, '--json'])).json();
  return ref;
};
const recover = () => holdfast(['recover', root, '--home', home, '--json']);

beforeEach(async () => {
  temporary = temporaryDirectory();
  root = join(fs.realpathSync(temporary.path), 'ws');
  home = join(temporary.path, 'home');
  fs.mkdirSync(root);
  write('old');
  older = await snapshot();
  write('new');
  newer = await snapshot();
  await beginRestore();
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

/** Appends what a restore appends before it touches anything, and stops there. */
async function beginRestore(): Promise<void> {
  await using ledgers = await openLevelLedgers(join(home, 'roots'));
  await using leaser = await openFsLeaser(join(home, 'leases'));
  await using blobs = await openFsBlobs(join(home, 'blobs'));
  await using store = await SessionStore.open({
    ledgers,
    leaser: prefixedLeaser(leaser, 'root-journals'),
    blobs,
  });
  await using journal = await store.open(createHash('sha256').update(root).digest('hex'));
  const restoreId = '0123456789abcdef0123456789abcdef';
  await journal.appendPrivate({
    type: 'restore-started',
    id: `${restoreId}.started`,
    body: {
      restoreId,
      ref: newer,
      previousRef: older,
      safetyRef: older,
      strategy: 'reconcile',
      planDigest: 'f'.repeat(64),
      root: { inode: '1', birthtimeNs: '1' },
    },
  });
}

describe('a restore without its scratch', () => {
  it.each(['old', 'new'])('is over when the files are the %s ones', async (text) => {
    write(text);
    expect((await recover()).status).toBe(0);
    expect(fs.readFileSync(join(root, 'file'), 'utf8')).toBe(text);
    // Settled: another process finds nothing open and can restore.
    const { ref }: { ref: string } = (
      await holdfast(['restore', older, root, '--home', home, '--json'])
    ).json();
    expect(ref).toBe(older);
  });

  it('is refused once when they are neither, naming what brings the old ones back', async () => {
    write('something else');
    const refused = await recover();
    expect(refused.status).toBe(1);
    expect(refused.error()).toMatchObject({ code: 'RESTORE_FAILED', kind: 'recovery-refused' });
    expect(refused.stderr).toContain(older);
    expect(fs.readFileSync(join(root, 'file'), 'utf8')).toBe('something else');
    expect((await recover()).status).toBe(0);
    const restored = await holdfast(['restore', older, root, '--home', home, '--json']);
    expect(restored.status).toBe(0);
    expect(fs.readFileSync(join(root, 'file'), 'utf8')).toBe('old');
  });
});

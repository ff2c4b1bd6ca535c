import { createHash } from 'node:crypto';

import { ManualClock } from '@holdfast/base/testing';
import { Dir } from '@holdfast/durable';
import { ForwardingFileSystem, ModelFileSystem, writeTree } from '@holdfast/durable/testing';
import { openFsLeaser } from '@holdfast/lease/fs';
import { applyRestore, readOutcomes, recover } from '@holdfast/restore';
import { MemorySource } from '@holdfast/restore/testing';

/** @typedef {import('../target.mjs').Target} Target */

const root = '/base/root';
const session = 'fuzzing';

/** Keeps every version of the intent that a restore writes. */
class IntentRecorder extends ForwardingFileSystem {
  /** @type {Buffer[]} */
  seen = [];

  /** @param {ModelFileSystem} disk */
  constructor(disk) {
    super(disk);
    this.disk = disk;
  }

  /** @type {ForwardingFileSystem['around']} */
  around(call, run) {
    if (call.operation === 'sync') this.#look();
    return run();
  }

  #look() {
    try {
      const dir = Dir.openRoot(this.disk.fork(), `/base/.root.holdfast/${session}`);
      const file = dir.openFile('intent');
      const bytes = Buffer.from(file.readAll({ maxBytes: 2 ** 20 }));
      file.close();
      dir.close();
      if (!this.seen.some((known) => known.equals(bytes))) this.seen.push(bytes);
    } catch {
      // There is none yet.
      return;
    }
  }
}

async function intents() {
  const disk = new ModelFileSystem();
  writeTree(disk, '/', {
    'base/': null,
    'base/root/': null,
    'base/root/a': 'new',
    'base/root/l': { link: 'a' },
  });
  const source = new MemorySource(disk);
  const ref = source.capture(root);
  const dir = Dir.openRoot(disk, root);
  dir.unlink('a');
  dir.close();
  writeTree(disk, root, { a: 'old', 'd/': null, 'd/x': 'gone' });
  const recorder = new IntentRecorder(disk);
  await applyRestore(source, ref, root, {
    session,
    owner: { pid: 1 },
    hostLock: async () =>
      await Promise.resolve({ [Symbol.asyncDispose]: async () => await Promise.resolve() }),
    fileSystem: recorder,
    prune: 'exact',
    restoreId: '0123456789abcdef0123456789abcdef',
    clock: new ManualClock(),
    wholeSync: false,
    journal: {
      prepare: () => Buffer.from('event'),
      started: async () => await Promise.resolve(1),
      restored: async () => await Promise.resolve(),
      aborted: async () => await Promise.resolve(),
    },
  });
  return recorder.seen;
}

/** Digests of the records, which are lines. @type {NonNullable<Target['mend']>} */
function mendLines(bytes, random) {
  if (random.below(5) === 0) return bytes;
  const lines = bytes
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '');
  const mended = lines.map((line) => {
    const json = Buffer.from(line.replace(/^\d* ?[0-9a-f]* ?/, ''), 'latin1');
    return `${json.length} ${createHash('sha256').update(json).digest('hex')} ${json.toString('latin1')}\n`;
  });
  return Buffer.from(mended.join(''), 'latin1');
}

/** @param {string} path @param {string} name @param {Uint8Array} bytes */
function diskWith(path, name, bytes) {
  const disk = new ModelFileSystem();
  const plan = Object.fromEntries(
    path
      .split('/')
      .slice(1)
      .map((_, index, all) => [`${all.slice(0, index + 1).join('/')}/`, null]),
  );
  writeTree(disk, '/', plan);
  writeTree(disk, path, { [name]: bytes });
  return disk;
}

/** @type {Target} */
export const restoreIntent = {
  name: 'restore-intent',
  what: 'the intent that an interrupted restore left',
  seeds: intents,
  json: true,
  mend: mendLines,
  share: 0.5,
  run: async (bytes) => {
    const disk = diskWith(`/base/.root.holdfast/${session}`, 'intent', bytes);
    writeTree(disk, '/', {
      'base/root/': null,
      'base/root/a': 'old',
      'base/root/d/': null,
      'base/root/d/x': 'gone',
      'base/outside': 'x',
    });
    /** @type {unknown} */
    let refusal;
    try {
      await recover(root, {
        isAlive: () => 'dead',
        fileSystem: disk,
        clock: new ManualClock(),
        wholeSync: false,
      });
      readOutcomes(root, { fileSystem: disk });
    } catch (error) {
      refusal = error;
    }
    const dir = Dir.openRoot(disk, '/base');
    if (dir.lstat('outside')?.kind !== 'file') throw new Error('recovery led out of the root');
    dir.close();
    if (refusal !== undefined) throw refusal;
  },
};

/** @type {Target} */
export const leaseFile = {
  name: 'lease-file',
  what: 'the file of a lease epoch',
  seeds: async () => {
    const disk = new ModelFileSystem();
    const leaser = await openFsLeaser('/leases', { fileSystem: disk, clock: new ManualClock() });
    const lease = await leaser.acquire('a', { owner: { who: 'me' } });
    const [path, name] = epochFile(disk);
    const dir = Dir.openRoot(disk, path);
    const file = dir.openFile(name);
    const held = Buffer.from(file.readAll({ maxBytes: 65_536 }));
    await lease.release();
    const released = Buffer.from(file.readAll({ maxBytes: 65_536 }));
    return [held, released];
  },
  json: true,
  mend: (bytes, random) => {
    if (random.below(5) === 0) return bytes;
    const [header = '', line = ''] = bytes.toString('latin1').split('\n');
    const body = Buffer.from(line, 'latin1');
    return Buffer.from(`${header}\n${line}\n${createHash('sha256').update(body).digest('hex')}\n`, 'latin1');
  },
  share: 0.5,
  run: async (bytes) => {
    const made = new ModelFileSystem();
    const maker = await openFsLeaser('/leases', { fileSystem: made, clock: new ManualClock() });
    await (await maker.acquire('a')).release();
    const [path, name] = epochFile(made);
    const dir = Dir.openRoot(made, path);
    dir.unlink(name);
    dir.close();
    writeTree(made, path, { [name]: bytes });
    const clock = new ManualClock();
    const leaser = await openFsLeaser('/leases', { fileSystem: made, clock, ttl: 3_000 });
    const { epoch } = await leaser.acquire('a');
    if (epoch < 2) throw new Error(`epoch ${epoch} was granted twice`);
    await leaser.close();
  },
};

/** The only file that a new lease leaves. @param {ModelFileSystem} disk @returns {[path: string, name: string]} */
function epochFile(disk) {
  /** @param {string} path @returns {[string, string] | undefined} */
  const look = (path) => {
    const dir = Dir.openRoot(disk, path);
    try {
      for (const bytes of dir.list()) {
        const name = Buffer.from(bytes).toString();
        const kind = dir.lstat(name)?.kind;
        if (kind === 'file' && /^\d+|epoch/.test(name)) return [path, name];
        const found = kind === 'directory' ? look(`${path}/${name}`) : undefined;
        if (found !== undefined) return found;
      }
      return undefined;
    } finally {
      dir.close();
    }
  };
  const found = look('/leases');
  if (found === undefined) throw new Error('no file of an epoch');
  return found;
}

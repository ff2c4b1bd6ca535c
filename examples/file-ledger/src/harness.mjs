import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Ledger, LedgerAmbiguousError } from '@holdfast/journal';

import { FileLedgerDriver, openFileLedger } from './file-ledger.mjs';
import { decodeFrames } from './frames.mjs';
import { pathOf } from './names.mjs';

/** @typedef {import('@holdfast/journal/testing').LedgerHarness} LedgerHarness */

/** @type {string[]} */
const directories = [];

/** Removes what the harness made. */
export async function removeDirectories() {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
}

/** @returns {Promise<string>} */
export async function temporaryDirectory() {
  const directory = await mkdtemp(path.join(tmpdir(), 'file-ledger-'));
  directories.push(directory);
  return directory;
}

/** A driver that can be told to lose the reply of its next append. */
class UnreliableDriver extends FileLedgerDriver {
  /** @type {'landed' | 'not-landed' | undefined} */
  lose;

  /** @type {FileLedgerDriver['append']} */
  async append(name, expectedTip, records, options) {
    const { lose } = this;
    this.lose = undefined;
    if (lose !== 'not-landed') await super.append(name, expectedTip, records, options);
    if (lose !== undefined) throw new LedgerAmbiguousError(name, expectedTip);
  }
}

/** @type {WeakMap<Ledger, { directory: string, driver: UnreliableDriver }>} */
const opened = new WeakMap();

/** @param {string} directory */
async function openIn(directory) {
  const driver = new UnreliableDriver(directory);
  const ledger = new Ledger(driver, { pollMilliseconds: 5 });
  opened.set(ledger, { directory, driver });
  return ledger;
}

/** @param {Ledger} ledger */
function known(ledger) {
  return /** @type {{ directory: string, driver: UnreliableDriver }} */ (opened.get(ledger));
}

/**
 * What `holdfast verify-backend ./src/harness.mjs` looks for.
 * @type {LedgerHarness}
 */
export const ledger = {
  adapter: 'file ledger',
  fresh: async () => {
    const directory = await temporaryDirectory();
    await (await openFileLedger(directory)).close();
    return await openIn(directory);
  },
  reopen: async (one) => await openIn(known(one).directory),
  crash: async (one) => await openIn(known(one).directory),
  corrupt: async (one, name, seq) => {
    const directory = path.join(known(one).directory, ...pathOf(name));
    // The file that holds the record is the last one that does not begin after it.
    const file = String(
      (await readdir(directory)).sort().findLast((entry) => Number(entry.slice(0, 16)) <= seq),
    );
    const bytes = await readFile(path.join(directory, file));
    const first = Number(file.slice(0, 16));
    const at = decodeFrames(bytes, file.slice(17), first)?.offset(seq - first) ?? 0;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 0x10, at);
    await writeFile(path.join(directory, file), bytes);
  },
  loseReply: async (one, outcome) => {
    known(one).driver.lose = outcome;
  },
};

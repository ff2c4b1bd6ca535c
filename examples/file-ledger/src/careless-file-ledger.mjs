import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { Ledger, LedgerConflictError } from '@holdfast/journal';

/**
 * What one writes in an hour without reading the contract, and what passes the tests that one writes in the same hour.
 * Every mistake in it was made by somebody. The suite says what each one is; README.md has the list.
 */
export class CarelessFileLedgerDriver {
  contract = /** @type {const} */ ('ledger/1');
  // Declared by an object that anybody can change (8.6).
  supports = { follow: false, shared: true, durable: true };
  maxRecordBytes = 4 * 1_048_576;

  /** @param {string} root */
  constructor(root) {
    this.root = root;
  }

  storagePaths() {
    return [this.root];
  }

  /**
   * @param {string} name
   * @param {number} expectedTip
   * @param {readonly Uint8Array[]} records
   */
  async append(name, expectedTip, records) {
    // The directory is made before anybody knows whether there will be a ledger (2.4).
    await mkdir(path.join(this.root, name), { recursive: true });
    const tip = await this.tip(name);
    if (tip !== expectedTip) throw new LedgerConflictError(name, expectedTip, tip);
    for (const [index, record] of records.entries()) {
      // Looked first, written later, over whatever is there by now (2.5). One after the other (2.6). Not synced. As text (2.8).
      await writeFile(
        path.join(this.root, name, `${expectedTip + index + 1}.record`),
        Buffer.from(record).toString(),
      );
    }
  }

  /**
   * @param {string} name
   * @param {{ from: number, to: number, reverse: boolean, limit: number }} range
   */
  async *read(name, range) {
    // The limit is counted from the beginning, whichever way one reads (3.4).
    const last = Math.min(range.to, range.from + range.limit - 1);
    const seqs = Array.from({ length: last - range.from + 1 }, (_, index) => range.from + index);
    for (const seq of range.reverse ? seqs.reverse() : seqs) {
      try {
        yield { seq, data: await readFile(path.join(this.root, name, `${seq}.record`)) };
      } catch {
        // Whatever happened, it is not there.
        return;
      }
    }
  }

  async changed() {}

  /** @param {string} name */
  async tip(name) {
    try {
      const files = await readdir(path.join(this.root, name));
      return files.filter((file) => file.endsWith('.record')).length;
    } catch {
      return 0;
    }
  }

  /** @param {string} prefix */
  async *list(prefix) {
    // In the order of the disk, and the name of a parent directory counts as a ledger (4.2).
    for (const entry of await readdir(this.root, { recursive: true, withFileTypes: true })) {
      const name = path.relative(this.root, path.join(entry.parentPath ?? entry.path, entry.name));
      if (entry.isDirectory() && name.startsWith(prefix)) yield name;
    }
  }

  /** @param {string} name */
  async delete(name) {
    // And everything below it (4.4).
    await rm(path.join(this.root, name), { recursive: true, force: true });
  }

  async close() {}
}

/** @param {string} directory */
export async function openCarelessFileLedger(directory) {
  await mkdir(directory, { recursive: true });
  return new Ledger(new CarelessFileLedgerDriver(directory));
}

import {
  Dir,
  ensureDirectorySync,
  OutcomeUncertainError,
  publishFile,
  readFile,
  removeTree,
} from '@holdfast/durable';
import { Ledger, LedgerAmbiguousError, LedgerConflictError } from '@holdfast/journal';

/** @typedef {import('@holdfast/durable').FileSystem} FileSystem */
/** @typedef {import('@holdfast/journal').LedgerDriver} LedgerDriver */

const digits = 12;
const maxRecordBytes = 1_048_576;

/**
 * The smallest ledger that keeps its contract over a `FileSystem`: a directory for each name, a file for each append,
 * named after its first record and published under that name exclusively, which is the compare-and-set.
 * @param {FileSystem} fileSystem
 * @param {string} directory
 */
export function openModelLedger(fileSystem, directory) {
  ensureDirectorySync(fileSystem, directory).close();
  return new Ledger(new ModelLedgerDriver(fileSystem, directory));
}

/** @implements {LedgerDriver} */
class ModelLedgerDriver {
  contract = /** @type {const} */ ('ledger/1');
  supports = Object.freeze({ follow: false, shared: true, durable: true });
  maxRecordBytes = maxRecordBytes;

  /** @param {FileSystem} fileSystem @param {string} root */
  constructor(fileSystem, root) {
    this.fileSystem = fileSystem;
    this.root = root;
  }

  storagePaths() {
    return [this.root];
  }

  /** @type {LedgerDriver['append']} */
  async append(name, expectedTip, records) {
    const dir = ensureDirectorySync(this.fileSystem, this.#path(name));
    try {
      const tip = tipOf(dir);
      if (tip !== expectedTip) throw new LedgerConflictError(name, expectedTip, tip);
      // The last name may be one that a process gave that died before its sync: nothing may come to last before it does.
      await dir.syncLater();
      const { created } = await publishFile(dir, fileName(expectedTip + 1), encode(records));
      if (!created) throw new LedgerConflictError(name, expectedTip);
    } catch (error) {
      if (OutcomeUncertainError.is(error))
        throw new LedgerAmbiguousError(name, expectedTip, { cause: error });
      throw error;
    } finally {
      dir.close();
    }
  }

  /** @type {LedgerDriver['read']} */
  async *read(name, range) {
    const found = this.#look(name, [], (dir) =>
      firstsOf(dir).flatMap((first) =>
        recordsIn(dir, first).map((data, index) => ({ seq: first + index, data })),
      ),
    );
    const inside = found.filter(({ seq }) => seq >= range.from && seq <= range.to);
    yield* (range.reverse ? inside.reverse() : inside).slice(0, range.limit);
  }

  async changed() {
    await Promise.reject(new Error('not declared: the portable class looks at the tip instead'));
  }

  /** @type {LedgerDriver['tip']} */
  async tip(name) {
    return await Promise.resolve(this.#look(name, 0, tipOf));
  }

  /** @type {LedgerDriver['list']} */
  async *list(prefix) {
    const root = Dir.openRoot(this.fileSystem, this.root);
    const names = root.list().map((name) => Buffer.from(name).toString());
    root.close();
    for (const name of names.map((one) => one.replaceAll('%', '/')).sort())
      if (!name.startsWith('.') && name.startsWith(prefix) && (await this.tip(name, {})) > 0) yield name;
  }

  /** @type {LedgerDriver['delete']} */
  async delete(name) {
    const root = Dir.openRoot(this.fileSystem, this.root);
    try {
      await removeTree(root, encodeName(name));
    } finally {
      root.close();
    }
  }

  async close() {
    await Promise.resolve();
  }

  /** @param {string} name */
  #path(name) {
    return `${this.root}/${encodeName(name)}`;
  }

  /**
   * @template T
   * @param {string} name
   * @param {T} absent
   * @param {(dir: Dir) => T} work
   */
  #look(name, absent, work) {
    const root = Dir.openRoot(this.fileSystem, this.root);
    const dir = root.lstat(encodeName(name)) === undefined ? undefined : root.openDir(encodeName(name));
    root.close();
    try {
      return dir === undefined ? absent : work(dir);
    } finally {
      dir?.close();
    }
  }
}

/** @param {string} name */
const encodeName = (name) => name.replaceAll('/', '%');

/** @param {number} first */
const fileName = (first) => String(first).padStart(digits, '0');

/** @param {Dir} dir */
function firstsOf(dir) {
  const names = dir.list().map((name) => Buffer.from(name).toString());
  return names
    .filter((name) => /^\d{12}$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);
}

/** @param {Dir} dir */
function tipOf(dir) {
  const last = firstsOf(dir).at(-1);
  if (last === undefined) return 0;
  const records = recordsIn(dir, last);
  return last + records.length - 1;
}

/** @param {readonly Uint8Array[]} records */
function encode(records) {
  return Buffer.from(JSON.stringify(records.map((record) => Buffer.from(record).toString('base64'))));
}

/** @param {Dir} dir @param {number} first @returns {Buffer[]} */
function recordsIn(dir, first) {
  const bytes = readFile(dir, fileName(first), { maxBytes: maxRecordBytes * 4 });
  if (bytes === undefined) throw new Error(`file ${first} of a ledger is gone`);
  /** @type {string[]} */
  const records = JSON.parse(Buffer.from(bytes).toString());
  return records.map((record) => Buffer.from(record, 'base64'));
}

import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, realpath, rename, rm, unlink } from 'node:fs/promises';
import path from 'node:path';

import {
  JournalCorruptError,
  Ledger,
  LedgerAmbiguousError,
  LedgerClosedError,
  LedgerConflictError,
  LedgerDeletedError,
} from '@holdfast/journal';

import { decodeFrames, encodeFrames } from './frames.mjs';
import { nameOf, pathOf } from './names.mjs';

const firstName = /^0{15}1\.([0-9a-f]{16})$/;
const digits = 16;

/** @typedef {import('@holdfast/journal').LedgerDriver} LedgerDriver */
/** @typedef {{ readonly seq: number, readonly file: string }} Piece One file: the records of one append. */

/**
 * Opens the ledgers below a directory, which is made when it is missing. Any number of processes of one host may.
 * @param {string} directory
 */
export async function openFileLedger(directory) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return new Ledger(new FileLedgerDriver(await realpath(directory)));
}

/**
 * One file for each append, named by the sequence of its first record. A name is given by a hard link, which fails when
 * it is taken: that is the compare-and-set. A file is complete and durable before it has its name, so readers need no lock.
 *
 * A ledger comes to be by renaming a directory that holds its first file. The random part of that file's name is the
 * ledger's generation, and part of the name of every later one: what a slow process adds to a ledger that was deleted and
 * made anew meanwhile is no part of it.
 *
 * @implements {LedgerDriver}
 */
export class FileLedgerDriver {
  contract = /** @type {const} */ ('ledger/1');
  supports = Object.freeze({ follow: false, shared: true, durable: true });
  maxRecordBytes = 4 * 1_048_576;
  /** @type {string} */
  #root;
  #closed = false;

  /** @param {string} root an absolute path */
  constructor(root) {
    this.#root = root;
  }

  storagePaths() {
    return [this.#root];
  }

  /** @type {LedgerDriver['append']} */
  async append(name, expectedTip, records, { signal }) {
    this.#check(signal);
    const directory = this.#directory(name);
    if (expectedTip === 0) await this.#create(name, directory, records, signal);
    else await this.#extend(name, directory, expectedTip, records, signal);
  }

  /** @type {LedgerDriver['read']} */
  async *read(name, range, { signal }) {
    this.#check(signal);
    const directory = this.#directory(name);
    const { generation, pieces } = await this.#history(directory);
    const ordered = range.reverse ? pieces.toReversed() : pieces;
    let left = range.limit;
    for (const [index, piece] of ordered.entries()) {
      // A piece ends where the next one begins; only the last one has to be opened to know.
      const following = range.reverse ? ordered[index - 1] : ordered[index + 1];
      if (piece.seq > range.to || (following !== undefined && following.seq <= range.from)) continue;
      this.#check(signal);
      const bytes = await contentOf(path.join(directory, piece.file));
      const frames = bytes === undefined ? undefined : decodeFrames(bytes, generation, piece.seq);
      if (frames === undefined) {
        const at = Math.max(piece.seq, range.from);
        // A ledger that was made anew meanwhile is another one, however long it is.
        if ((await this.#history(directory)).generation !== generation)
          throw new LedgerDeletedError(name, at);
        throw damaged(name, at);
      }
      const seqs = Array.from({ length: frames.count }, (_, at) => piece.seq + at);
      for (const seq of range.reverse ? seqs.reverse() : seqs) {
        if (seq < range.from || seq > range.to) continue;
        if (left === 0) return;
        left -= 1;
        const data = frames.record(seq - piece.seq);
        if (data === undefined) throw damaged(name, seq);
        yield { seq, data };
      }
    }
  }

  /** @returns {Promise<void>} */
  async changed() {
    throw new Error('not declared: the portable class looks at the tip instead');
  }

  /** @type {LedgerDriver['tip']} */
  async tip(name, { signal }) {
    this.#check(signal);
    return await this.#tip(name, this.#directory(name));
  }

  /** @type {LedgerDriver['list']} */
  async *list(prefix, { signal }) {
    this.#check(signal);
    const names = await this.#names([]);
    for (const name of names.filter((one) => one.startsWith(prefix)).sort()) {
      this.#check(signal);
      yield name;
    }
  }

  /** @type {LedgerDriver['delete']} */
  async delete(name, { signal }) {
    this.#check(signal);
    const trash = path.join(this.#root, `.trash-${randomBytes(8).toString('hex')}`);
    try {
      // The whole ledger leaves in one step; a crash leaves all of it or nothing under its name.
      await rename(this.#directory(name), trash);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return;
      throw error;
    }
    await syncDirectory(path.dirname(this.#directory(name)));
    await rm(trash, { recursive: true, force: true });
  }

  async close() {
    this.#closed = true;
  }

  /**
   * 1. Make a directory with the first file in it, durable. 2. Rename it to its place, which fails when there is one.
   * @param {string} name
   * @param {string} directory
   * @param {readonly Uint8Array[]} records
   * @param {AbortSignal | undefined} signal
   */
  async #create(name, directory, records, signal) {
    const tip = await this.#tip(name, directory);
    if (tip > 0) throw new LedgerConflictError(name, 0, tip);
    await this.#makeParents(directory);
    const generation = randomBytes(8).toString('hex');
    const made = path.join(path.dirname(directory), `.new-${generation}`);
    await mkdir(made, { mode: 0o700 });
    try {
      await writeDurably(path.join(made, fileName(1, generation)), encodeFrames(generation, 1, records));
      await syncDirectory(made);
      this.#check(signal);
      await rename(made, directory);
    } catch (error) {
      await rm(made, { recursive: true, force: true });
      // Somebody else's directory is there, and not empty.
      if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') throw new LedgerConflictError(name, 0);
      throw error;
    }
    await this.#afterwards(name, 0, () => syncDirectory(path.dirname(directory)));
  }

  /**
   * 1. Compare the tip. 2. Make the names that we saw durable: whoever gave the last one may have died before he did, and
   * a record must not outlast the one before it. 3. Write a complete file under a name of our own, durable. 4. Link it to
   * the name of the next record: whoever is first has it. 5. Make the name durable. 6. Look whether the ledger is still
   * the one we saw.
   * @param {string} name
   * @param {string} directory
   * @param {number} expectedTip
   * @param {readonly Uint8Array[]} records
   * @param {AbortSignal | undefined} signal
   */
  async #extend(name, directory, expectedTip, records, signal) {
    const { generation } = await this.#pieces(directory);
    const tip = await this.#tip(name, directory);
    if (tip !== expectedTip) throw new LedgerConflictError(name, expectedTip, tip);
    const first = expectedTip + 1;
    const temporary = path.join(directory, `.tmp-${randomBytes(8).toString('hex')}`);
    const target = path.join(directory, fileName(first, generation));
    try {
      await syncDirectory(directory);
      await writeDurably(temporary, encodeFrames(generation, first, records));
      this.#check(signal);
      await link(temporary, target);
    } catch (error) {
      await unlink(temporary).catch(() => undefined);
      // Taken by somebody else, or the whole ledger is gone.
      if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT')
        throw new LedgerConflictError(name, expectedTip);
      throw error;
    }
    await this.#afterwards(name, expectedTip, async () => {
      await unlink(temporary);
      await syncDirectory(directory);
      const now = await this.#pieces(directory);
      if (now.generation !== generation) throw new Error('the ledger was deleted meanwhile');
    });
  }

  /**
   * From the moment a file has its name, a failure does not say that nothing was written.
   * @param {string} name
   * @param {number} expectedTip
   * @param {() => Promise<void>} work
   */
  async #afterwards(name, expectedTip, work) {
    try {
      await work();
    } catch (error) {
      throw new LedgerAmbiguousError(name, expectedTip, { cause: error });
    }
  }

  /**
   * The files of a ledger without a gap, as far as the ledger went when this began. A large directory is not listed in one
   * step: a listing may have a file and not the one that was made just before it. But a second listing has everything that
   * is older than the youngest file of the first one.
   * @param {string} directory
   */
  async #history(directory) {
    let before = await this.#pieces(directory);
    for (;;) {
      const now = await this.#pieces(directory);
      const end = before.pieces.at(-1)?.seq ?? 0;
      if (now.generation === before.generation)
        return { generation: now.generation, pieces: now.pieces.filter(({ seq }) => seq <= end) };
      before = now;
    }
  }

  /**
   * The files of a ledger in order, without those of another generation. The last one counts; see `#history`.
   * @param {string} directory
   * @returns {Promise<{ generation: string, pieces: Piece[] }>}
   */
  async #pieces(directory) {
    const files = (await entriesOf(directory)).map((entry) => entry.name);
    const generation =
      files.map((file) => firstName.exec(file)?.[1]).find((found) => found !== undefined) ?? '';
    const pieces = files
      .filter((file) => file.length === digits + 17 && file.endsWith(`.${generation}`))
      .map((file) => ({ seq: Number(file.slice(0, digits)), file }))
      .sort((a, b) => a.seq - b.seq);
    return { generation, pieces };
  }

  /**
   * @param {string} name
   * @param {string} directory
   */
  async #tip(name, directory) {
    for (;;) {
      const { generation, pieces } = await this.#pieces(directory);
      const last = pieces.at(-1);
      if (last === undefined) return 0;
      const bytes = await contentOf(path.join(directory, last.file));
      // Deleted between the two looks: look again.
      if (bytes === undefined) continue;
      const frames = decodeFrames(bytes, generation, last.seq);
      if (frames === undefined) throw damaged(name, last.seq);
      return last.seq + frames.count - 1;
    }
  }

  /**
   * @param {readonly string[]} components
   * @returns {Promise<string[]>}
   */
  async #names(components) {
    const names = [];
    for (const entry of await entriesOf(path.join(this.#root, ...components))) {
      if (!entry.isDirectory() || entry.name.startsWith('.')) continue;
      const inner = [...components, entry.name];
      const name = nameOf(inner);
      if (name === undefined) names.push(...(await this.#names(inner)));
      else names.push(name);
    }
    return names;
  }

  /**
   * Makes the directories above a ledger's, each durable before the next one.
   * @param {string} directory
   */
  async #makeParents(directory) {
    let current = this.#root;
    for (const component of path.relative(this.#root, path.dirname(directory)).split(path.sep)) {
      if (component === '') continue;
      const parent = current;
      current = path.join(current, component);
      await mkdir(current, { mode: 0o700 }).catch((/** @type {unknown} */ error) => {
        if (codeOf(error) !== 'EEXIST') throw error;
      });
      await syncDirectory(parent);
    }
  }

  /** @param {string} name */
  #directory(name) {
    return path.join(this.#root, ...pathOf(name));
  }

  /** @param {AbortSignal | undefined} signal */
  #check(signal) {
    if (this.#closed) throw new LedgerClosedError();
    signal?.throwIfAborted();
  }
}

/**
 * @param {string} name
 * @param {number} seq
 */
function damaged(name, seq) {
  return new JournalCorruptError(name, 'digest-mismatch', { seq });
}

/**
 * @param {number} first
 * @param {string} generation
 */
function fileName(first, generation) {
  return `${String(first).padStart(digits, '0')}.${generation}`;
}

/**
 * The bytes of a file; `undefined` only when the system says that it is not there.
 * @param {string} file
 */
async function contentOf(file) {
  try {
    return await readFile(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** @param {string} directory */
async function entriesOf(directory) {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * @param {string} file
 * @param {Uint8Array} bytes
 */
async function writeDurably(file, bytes) {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @param {string} directory */
async function syncDirectory(directory) {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {{ code?: unknown } | undefined} */ (error)?.code;
}
